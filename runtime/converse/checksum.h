// Checksums of bytes (crc32.h). Plain C, and C++17.
//
// crc32_update() of what one sum was made of and of what follows is crc32_initial() of both together, from four bytes
// on.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
// A CRC by the polynomial 0x04c11db7, the highest bit first.
unsigned int crc32_initial(unsigned char* data, int length);
unsigned int crc32_update(unsigned char* data, int length, unsigned int previous);
// The exclusive or of the bytes in fours, the first of four the lowest.
unsigned int checksum_initial(unsigned char* data, int length);
unsigned int checksum_update(unsigned char* data, int length, unsigned int previous);
#ifdef __cplusplus
}
#endif
