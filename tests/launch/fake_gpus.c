/* The three functions of a GPU driver's library that periapt-doctor calls, of CUDA (libcuda.so.1) or HIP
   (libamdhip64.so): they answer what FAKE_GPUS says, a number of devices or, below 0, an error. */
#include <stdlib.h>
#include <string.h>

static int told(void) {
  const char* text = getenv("FAKE_GPUS");
  return text ? atoi(text) : 0;
}
static int count(int* devices) {
  *devices = told() > 0 ? told() : 0;
  return told() < 0 ? -told() : 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return told() < 0 ? -told() : 0;
}
int cuDeviceGetCount(int* devices) { return count(devices); }
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  strncpy(name, "Fake 9000", (size_t)size);
  return 0;
}
int hipGetDeviceCount(int* devices) { return count(devices); }
