#include "textflag.h"

// Per 64-bit word of a group: how far it goes right, how far the one after it
// goes left (64: it is dropped), and which of its bits are payload.
DATA right<>+0(SB)/8, $0
DATA right<>+8(SB)/8, $0
DATA right<>+16(SB)/8, $0
DATA right<>+24(SB)/8, $0
DATA right<>+32(SB)/8, $2
DATA right<>+40(SB)/8, $2
DATA right<>+48(SB)/8, $2
DATA right<>+56(SB)/8, $2
DATA right<>+64(SB)/8, $4
DATA right<>+72(SB)/8, $4
DATA right<>+80(SB)/8, $4
DATA right<>+88(SB)/8, $4
DATA right<>+96(SB)/8, $6
DATA right<>+104(SB)/8, $6
DATA right<>+112(SB)/8, $6
DATA right<>+120(SB)/8, $6
GLOBL right<>(SB), RODATA|NOPTR, $128

DATA left<>+0(SB)/8, $64
DATA left<>+8(SB)/8, $64
DATA left<>+16(SB)/8, $64
DATA left<>+24(SB)/8, $62
DATA left<>+32(SB)/8, $62
DATA left<>+40(SB)/8, $62
DATA left<>+48(SB)/8, $62
DATA left<>+56(SB)/8, $60
DATA left<>+64(SB)/8, $60
DATA left<>+72(SB)/8, $60
DATA left<>+80(SB)/8, $60
DATA left<>+88(SB)/8, $58
DATA left<>+96(SB)/8, $58
DATA left<>+104(SB)/8, $58
DATA left<>+112(SB)/8, $58
DATA left<>+120(SB)/8, $64
GLOBL left<>(SB), RODATA|NOPTR, $128

DATA keep<>+0(SB)/8, $-1
DATA keep<>+8(SB)/8, $-1
DATA keep<>+16(SB)/8, $-1
DATA keep<>+24(SB)/8, $0x3fffffffffffffff
DATA keep<>+32(SB)/8, $-1
DATA keep<>+40(SB)/8, $-1
DATA keep<>+48(SB)/8, $-1
DATA keep<>+56(SB)/8, $0x3fffffffffffffff
GLOBL keep<>(SB), RODATA|NOPTR, $64

// func unpadAVX2(dst, src *byte, groups int)
TEXT ·unpadAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	VMOVDQU right<>+32(SB), Y8
	VMOVDQU right<>+64(SB), Y9
	VMOVDQU right<>+96(SB), Y10
	VMOVDQU left<>+0(SB), Y11
	VMOVDQU left<>+32(SB), Y12
	VMOVDQU left<>+64(SB), Y13
	VMOVDQU left<>+96(SB), Y14
	VMOVDQU keep<>+0(SB), Y15

loop:
	VPAND   (SI), Y15, Y0
	VMOVDQU 8(SI), Y1
	VPAND   32(SI), Y15, Y2
	VMOVDQU 40(SI), Y3
	VPAND   64(SI), Y15, Y4
	VMOVDQU 72(SI), Y5
	VPAND   96(SI), Y15, Y6
	VMOVDQU 104(SI), Y7
	VPSLLVQ Y11, Y1, Y1
	VPSRLVQ Y8, Y2, Y2
	VPSLLVQ Y12, Y3, Y3
	VPSRLVQ Y9, Y4, Y4
	VPSLLVQ Y13, Y5, Y5
	VPSRLVQ Y10, Y6, Y6
	VPSLLVQ Y14, Y7, Y7
	VPOR    Y1, Y0, Y0
	VPOR    Y3, Y2, Y2
	VPOR    Y5, Y4, Y4
	VPOR    Y7, Y6, Y6
	VMOVDQU Y0, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y4, 64(DI)
	VMOVDQU Y6, 96(DI)
	ADDQ $128, SI
	ADDQ $127, DI
	DECQ CX
	JNZ  loop
	VZEROUPPER
	RET

// The numbers 0 to 63, and how far each of three cuts lies in 128 bytes.
DATA count<>+0(SB)/8, $0x0706050403020100
DATA count<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA count<>+16(SB)/8, $0x1716151413121110
DATA count<>+24(SB)/8, $0x1f1e1d1c1b1a1918
DATA count<>+32(SB)/8, $0x2726252423222120
DATA count<>+40(SB)/8, $0x2f2e2d2c2b2a2928
DATA count<>+48(SB)/8, $0x3736353433323130
DATA count<>+56(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL count<>(SB), RODATA|NOPTR, $64

DATA cuts<>+0(SB)/1, $1
DATA cuts<>+1(SB)/1, $63
DATA cuts<>+2(SB)/1, $64
GLOBL cuts<>(SB), RODATA|NOPTR, $3

// UNPAD writes whole 64-byte lines, cut out of the stream of payload that the
// groups make. A group gives two registers of 64 bytes, Z0 and Z1, the last
// byte of which is none; Z2 are the 64 bytes up to its end. A cut of 64 bytes
// that begins c bytes into Z2 of the group before ends in Z0, and the next line
// is the same cut of Z0 and Z1. c grows by one from group to group, as each is
// a byte shorter than two lines. The first of 64 groups begins a line, and has
// only one; after the 64th the stream is at the end of a line again.
#define UNPAD(STORE) \
	MOVQ         dst+0(FP), DI \
	MOVQ         src+8(FP), SI \
	MOVQ         groups+16(FP), CX \
	VMOVDQU64    right<>+0(SB), Z8 \
	VMOVDQU64    right<>+64(SB), Z9 \
	VMOVDQU64    left<>+0(SB), Z10 \
	VMOVDQU64    left<>+64(SB), Z11 \
	VMOVDQU64    keep<>+0(SB), Z12 \
	VMOVDQU64    count<>+0(SB), Z13 \
	VPBROADCASTB cuts<>+0(SB), Z14 \
	VPBROADCASTB cuts<>+1(SB), Z15 \
	VPADDB       Z13, Z15, Z15 \
	VPBROADCASTB cuts<>+2(SB), Z16 \
	VPADDB       Z13, Z16, Z16 \
block: \
	VMOVDQA64 Z16, Z7 \
	MOVQ      $64, DX \
group: \
	VMOVDQU64 (SI), Z0 \
	VMOVDQU64 64(SI), Z1 \
	VALIGNQ   $1, Z0, Z1, Z3 \
	VALIGNQ   $1, Z1, Z1, Z4 \
	VPANDQ    Z12, Z0, Z0 \
	VPANDQ    Z12, Z1, Z1 \
	VPSRLVQ   Z8, Z0, Z0 \
	VPSRLVQ   Z9, Z1, Z1 \
	VPSLLVQ   Z10, Z3, Z3 \
	VPSLLVQ   Z11, Z4, Z4 \
	VPORQ     Z3, Z0, Z0 \
	VPORQ     Z4, Z1, Z1 \
	VMOVDQA64 Z7, Z5 \
	VMOVDQA64 Z7, Z6 \
	VPERMI2B  Z0, Z2, Z5 \
	VPERMI2B  Z1, Z0, Z6 \
	VMOVDQA64 Z15, Z2 \
	VPERMI2B  Z1, Z0, Z2 \
	STORE     Z5, (DI) \
	ADDQ      $128, SI \
	CMPQ      DX, $64 \
	JEQ       first \
	STORE     Z6, 64(DI) \
	ADDQ      $128, DI \
	VPADDB    Z14, Z7, Z7 \
	DECQ      DX \
	JNZ       group \
	SUBQ      $64, CX \
	JNZ       block \
	SFENCE \
	VZEROUPPER \
	RET \
first: \
	ADDQ   $64, DI \
	VPADDB Z14, Z13, Z7 \
	DECQ   DX \
	JMP    group

// func unpadLines(dst, src *byte, groups int)
TEXT ·unpadLines(SB), NOSPLIT, $0-24
	UNPAD(VMOVDQA64)

// func unpadLinesPastCache(dst, src *byte, groups int)
TEXT ·unpadLinesPastCache(SB), NOSPLIT, $0-24
	UNPAD(VMOVNTDQ)
