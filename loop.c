
#include <stddef.h>
#include <stdint.h>
uint32_t loop(const uint32_t *a, const uint32_t *b, size_t n) {
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++) all += a[i] ^ b[i];
    return all;
}
