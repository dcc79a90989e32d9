package fr32

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// unpadAVX2 does what unpadWords does, 32 bytes at a time. groups must not be
// 0. It reads 8 bytes, and writes one, after the last of them.
//
//go:noescape
func unpadAVX2(dst, src *byte, groups int)

// unpadLines does the same with AVX-512, writing whole cache lines: dst must
// be aligned to 64 bytes, and groups a multiple of 64, not 0. It stays inside
// of both. Stores of 127 bytes that straddle lines are what limits unpadAVX2:
// for 256 KiB it was measured at 0.64 of the speed of copy, this at 0.98 to 1.
//
//go:noescape
func unpadLines(dst, src *byte, groups int)

// unpadLinesPastCache does not first read the lines that it writes: for 16 MiB
// 1.04 of the speed of copy, which does so too, where unpadLines has 0.87. For
// 256 KiB it has 0.3.
//
//go:noescape
func unpadLinesPastCache(dst, src *byte, groups int)

// GODEBUG=cpu.avx512f=off,cpu.avx2=off hides them, for tests.
var (
	hasLines = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VBMI
	hasAVX2  = cpu.X86.HasAVX2
)

const (
	line         = 64
	linesGroups  = 64 // as many groups as end with the end of a line, of 127
	pastCacheLen = 1 << 20
)

func unpadGroups(dst, src []byte) {
	if len(src) >= 2*linesGroups*Padded && hasLines {
		// Each group ends one byte earlier in its line than the one before.
		if head := int(uintptr(unsafe.Pointer(&dst[0])) % line); head > 0 {
			unpadAVX2(&dst[0], &src[0], head)
			dst, src = dst[head*Payload:], src[head*Padded:]
		}
		groups := len(src) / Padded / linesGroups * linesGroups
		if len(src) >= pastCacheLen {
			unpadLinesPastCache(&dst[0], &src[0], groups)
		} else {
			unpadLines(&dst[0], &src[0], groups)
		}
		dst, src = dst[groups*Payload:], src[groups*Padded:]
	}
	// One group is left to unpadWords, which stays inside it.
	if groups := len(src)/Padded - 1; groups > 0 && hasAVX2 {
		unpadAVX2(&dst[0], &src[0], groups)
		dst, src = dst[groups*Payload:], src[groups*Padded:]
	}
	unpadWords(dst, src)
}
