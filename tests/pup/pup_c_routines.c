/* A pup routine in C, and the streams that C can make. */
#include <stdlib.h>
#include <string.h>

#include "pup_c.h"

typedef struct {
  int n;
  double* values;
  char name[8];
} bar;

static void pup_bar(pup_er p, bar* b) {
  pup_int(p, &b->n);
  if (pup_isUnpacking(p)) b->values = malloc((size_t)b->n * sizeof(double));
  pup_doubles(p, b->values, (size_t)b->n);
  pup_bytes(p, b->name, sizeof b->name);
  if (pup_isDeleting(p)) free(b->values);
}

/* There and back; 0 when it came back the same, otherwise the number of the step that failed. */
int pup_c_roundtrip(void) {
  double values[3] = {1, 2, 3};
  bar in = {3, values, "bar"}, out;
  memset(&out, 0, sizeof out);
  pup_er sizer = pup_new_sizer();
  if (!pup_isSizing(sizer)) return 1;
  pup_bar(sizer, &in);
  size_t size = pup_size(sizer);
  pup_destroy(sizer);
  if (size != 4 + 24 + 8) return 2;
  char* buffer = malloc(size);
  pup_er to = pup_new_toMem(buffer);
  if (!pup_isPacking(to) || strcmp(pup_typeString(to), "packing") != 0) return 3;
  pup_bar(to, &in);
  if (pup_size(to) != size) return 4;
  pup_destroy(to);
  pup_er from = pup_new_fromMem_length(buffer, size);
  pup_bar(from, &out);
  pup_destroy(from);
  int same = out.n == 3 && out.values[2] == 3 && strcmp(out.name, "bar") == 0;
  free(out.values);
  free(buffer);
  return same ? 0 : 5;
}
