// Threads of POSIX on user-level threads: a part of converse_rest_program.
#include <cpthreads.h>

#include <vector>

#include "converse_rest.h"

namespace {
pthread_mutex_t lock;
pthread_cond_t filled;
pthread_key_t key;
std::vector<int> items;
int destroyed, cleaned, begun;

void on_destroy(void* value) { destroyed += *static_cast<int*>(value); }
void on_cleanup(void* by) { cleaned = cleaned * 10 + *static_cast<int*>(by); }
void begin_once() { ++begun; }
pthread_once_t once = PTHREAD_ONCE_INIT;

void* produce(void* argument) {
  static int one = 1, two = 2;
  pthread_once(&once, begin_once);
  pthread_setspecific(key, argument);
  pthread_cleanup_push(on_cleanup, &one);
  pthread_cleanup_push(on_cleanup, &two);
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&lock);
    const std::size_t before = items.size();
    CthYield();  // others come to wait
    CHECK(items.size() == before);
    items.push_back(i);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_yield();
  }
  CHECK(pthread_getspecific(key) == argument && !pthread_equal(pthread_self(), nullptr));
  pthread_cleanup_pop(0);
  pthread_exit(argument);
  return nullptr;
}
void* consume(void*) {
  int sum = 0;
  pthread_mutex_lock(&lock);
  for (int left = 15; left > 0; --left) {
    while (items.empty()) pthread_cond_wait(&filled, &lock);
    sum += items.back();
    items.pop_back();
  }
  pthread_mutex_unlock(&lock);
  CHECK(sum == 30);
  return nullptr;
}
void begin(int, char**) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  CHECK(pthread_mutex_init(&lock, &attributes) == 0 && pthread_cond_init(&filled, nullptr) == 0);
  CHECK(pthread_key_create(&key, on_destroy) == 0);
  static int numbers[3] = {1, 10, 100};
  pthread_t consumer, producers[3];
  pthread_create(&consumer, nullptr, consume, nullptr);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 100000);
  for (int i = 0; i < 3; ++i) pthread_create(&producers[i], &attr, produce, &numbers[i]);
  for (int i = 0; i < 3; ++i) {
    void* status;
    CHECK(pthread_join(producers[i], &status) == 0 && status == &numbers[i]);
  }
  CHECK(pthread_join(consumer, nullptr) == 0);
  CHECK(destroyed == 111 && cleaned == 111 && begun == 1);
  CHECK(pthread_mutex_trylock(&lock) == 0 && pthread_mutex_destroy(&lock) == EBUSY &&
        pthread_mutex_lock(&lock) == EDEADLK);
  CHECK(pthread_mutex_unlock(&lock) == 0 && pthread_mutex_unlock(&lock) == EPERM);
  CHECK(pthread_mutex_destroy(&lock) == 0 && pthread_cond_destroy(&filled) == 0);
  Cpthread_errno = 5;
  CHECK(Cpthread_errno == 5);
  ack();
}
}  // namespace

int posix_start() {
  items.clear();
  destroyed = cleaned = begun = 0;
  Cpthread_start_main(begin, 0, nullptr);
  return 1;
}
