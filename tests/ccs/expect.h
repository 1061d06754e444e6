// What a test in C expects: where it is not so, that ends it with the number of the line.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "line %d: %s is not so\n", __LINE__, #condition); \
      exit(2);                                                          \
    }                                                                   \
  } while (0)
