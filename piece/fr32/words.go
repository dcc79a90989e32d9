package fr32

// A group is sixteen 64-bit words in its padded form. Value v (0 to 3) is the
// four words from 4v on, 254 bits, and starts at bit 254v of the payload, that
// is 2v bits before the word boundary: so each payload word is the padded word
// shifted right by 2v, joined by the low bits of the one after it.

func padGroups(dst, src []byte) {
	for len(src) >= Padded && len(dst) >= Padded {
		pad((*[Padded]byte)(dst), (*[Padded]byte)(src))
		src, dst = src[Payload:], dst[Padded:]
	}
	if len(src) > 0 {
		var last [Padded]byte
		copy(last[:Payload], src)
		pad((*[Padded]byte)(dst), &last)
	}
}

// pad reads one byte more than a group's 127, and ignores it.
func pad(dst, src *[Padded]byte) {
	const low62 = 1<<62 - 1
	a0, a1, a2, a3 := le.Uint64(src[0:]), le.Uint64(src[8:]), le.Uint64(src[16:]), le.Uint64(src[24:])
	a4, a5, a6, a7 := le.Uint64(src[32:]), le.Uint64(src[40:]), le.Uint64(src[48:]), le.Uint64(src[56:])
	a8, a9, a10, a11 := le.Uint64(src[64:]), le.Uint64(src[72:]), le.Uint64(src[80:]), le.Uint64(src[88:])
	a12, a13, a14, a15 := le.Uint64(src[96:]), le.Uint64(src[104:]), le.Uint64(src[112:]), le.Uint64(src[120:])

	le.PutUint64(dst[0:], a0)
	le.PutUint64(dst[8:], a1)
	le.PutUint64(dst[16:], a2)
	le.PutUint64(dst[24:], a3&low62)

	le.PutUint64(dst[32:], a3>>62|a4<<2)
	le.PutUint64(dst[40:], a4>>62|a5<<2)
	le.PutUint64(dst[48:], a5>>62|a6<<2)
	le.PutUint64(dst[56:], (a6>>62|a7<<2)&low62)

	le.PutUint64(dst[64:], a7>>60|a8<<4)
	le.PutUint64(dst[72:], a8>>60|a9<<4)
	le.PutUint64(dst[80:], a9>>60|a10<<4)
	le.PutUint64(dst[88:], (a10>>60|a11<<4)&low62)

	le.PutUint64(dst[96:], a11>>58|a12<<6)
	le.PutUint64(dst[104:], a12>>58|a13<<6)
	le.PutUint64(dst[112:], a13>>58|a14<<6)
	le.PutUint64(dst[120:], (a14>>58|a15<<6)&low62)
}

func unpadWords(dst, src []byte) {
	// Each group is written with one byte too many, which the next one overwrites.
	for len(dst) >= Padded && len(src) >= Padded {
		unpad((*[Padded]byte)(dst), (*[Padded]byte)(src))
		dst, src = dst[Payload:], src[Padded:]
	}
	if len(src) > 0 {
		var last [Padded]byte
		unpad(&last, (*[Padded]byte)(src))
		copy(dst, last[:Payload])
	}
}

// unpad writes one byte more than a group's 127; it is zero.
func unpad(dst, src *[Padded]byte) {
	const low62 = 1<<62 - 1
	a0, a1, a2, a3 := le.Uint64(src[0:]), le.Uint64(src[8:]), le.Uint64(src[16:]), le.Uint64(src[24:])&low62
	a4, a5, a6, a7 := le.Uint64(src[32:]), le.Uint64(src[40:]), le.Uint64(src[48:]), le.Uint64(src[56:])&low62
	a8, a9, a10, a11 := le.Uint64(src[64:]), le.Uint64(src[72:]), le.Uint64(src[80:]), le.Uint64(src[88:])&low62
	a12, a13, a14, a15 := le.Uint64(src[96:]), le.Uint64(src[104:]), le.Uint64(src[112:]), le.Uint64(src[120:])&low62

	le.PutUint64(dst[0:], a0)
	le.PutUint64(dst[8:], a1)
	le.PutUint64(dst[16:], a2)
	le.PutUint64(dst[24:], a3|a4<<62)

	le.PutUint64(dst[32:], a4>>2|a5<<62)
	le.PutUint64(dst[40:], a5>>2|a6<<62)
	le.PutUint64(dst[48:], a6>>2|a7<<62)
	le.PutUint64(dst[56:], a7>>2|a8<<60)

	le.PutUint64(dst[64:], a8>>4|a9<<60)
	le.PutUint64(dst[72:], a9>>4|a10<<60)
	le.PutUint64(dst[80:], a10>>4|a11<<60)
	le.PutUint64(dst[88:], a11>>4|a12<<58)

	le.PutUint64(dst[96:], a12>>6|a13<<58)
	le.PutUint64(dst[104:], a13>>6|a14<<58)
	le.PutUint64(dst[112:], a14>>6|a15<<58)
	le.PutUint64(dst[120:], a15>>6)
}
