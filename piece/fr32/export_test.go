package fr32

// UnpadWords is the portable unpadder, which Unpad replaces where it can.
func UnpadWords(dst, src []byte) { unpadWords(dst, src) }
