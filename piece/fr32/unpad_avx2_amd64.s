#include "textflag.h"

// Per 64-bit word of a group: how far it goes right (the first four stay where
// they are), how far the one after it goes left (64: it is dropped), and which
// bits of a 32-byte value are payload.
DATA right<>+0(SB)/8, $2
DATA right<>+8(SB)/8, $2
DATA right<>+16(SB)/8, $2
DATA right<>+24(SB)/8, $2
DATA right<>+32(SB)/8, $4
DATA right<>+40(SB)/8, $4
DATA right<>+48(SB)/8, $4
DATA right<>+56(SB)/8, $4
DATA right<>+64(SB)/8, $6
DATA right<>+72(SB)/8, $6
DATA right<>+80(SB)/8, $6
DATA right<>+88(SB)/8, $6
GLOBL right<>(SB), RODATA|NOPTR, $96

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
GLOBL keep<>(SB), RODATA|NOPTR, $32

// func unpadAVX2(dst, src *byte, groups int)
TEXT ·unpadAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	VMOVDQU right<>+0(SB), Y8
	VMOVDQU right<>+32(SB), Y9
	VMOVDQU right<>+64(SB), Y10
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
