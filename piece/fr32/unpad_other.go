//go:build !amd64

package fr32

func unpadGroups(dst, src []byte) { unpadWords(dst, src) }
