package fr32

import "golang.org/x/sys/cpu"

// unpadAVX2 does what unpadWords does, 32 bytes at a time: measured at 4.5
// times its speed for 256 KiB, and twice its speed for 16 MiB. groups must
// not be 0. It reads 8 bytes, and writes one, after the last of them. Wider
// vectors, prefetching and non-temporal stores were measured to gain nothing.
//
//go:noescape
func unpadAVX2(dst, src *byte, groups int)

func unpadGroups(dst, src []byte) {
	// One group is left to unpadWords, which stays inside it.
	if groups := len(src)/Padded - 1; groups > 0 && cpu.X86.HasAVX2 {
		unpadAVX2(&dst[0], &src[0], groups)
		dst, src = dst[groups*Payload:], src[groups*Padded:]
	}
	unpadWords(dst, src)
}
