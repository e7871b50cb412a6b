/* parameterized.h: see criterion.h. */
#include <criterion/criterion.h>
