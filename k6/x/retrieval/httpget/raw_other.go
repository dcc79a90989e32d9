//go:build !linux

package httpget

import "net"

// rawConn drops bytes in the kernel, which only Linux can.
type rawConn struct{ total int64 }

func newRawConn(net.Conn, *int64) *rawConn { return nil }

func (*rawConn) drop(int64) (int, error)                     { panic("never made") }
func (*rawConn) copy(int64, func([]byte) error) (int, error) { panic("never made") }
func (*rawConn) fill([]byte) (int, error)                    { panic("never made") }
func (*rawConn) expect(int64)                                { panic("never made") }
func (*rawConn) endBatches()                                 { panic("never made") }
func (*rawConn) quiet() bool                                 { panic("never made") }
func (*rawConn) unacknowledged() bool                        { panic("never made") }
