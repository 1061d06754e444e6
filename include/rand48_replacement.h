/* Programs include this where the C library may lack srand48 and drand48. It has them here. Plain C. */
#include <stdlib.h>
