// Package ending makes a program end in order, whichever signal ends it.
package ending

import (
	"context"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"
)

// ends are the signals that end a program in Go that does not catch them, without
// SIGKILL, which none can. Go ignores the others, and of SIGPIPE see Context.
var ends = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP,
	unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
}

// Context returns a context that ends with parent, or at the first signal that
// would end the process. Further ones change nothing until stop is called. A
// signal that this process was started to ignore, as nohup does with SIGHUP,
// stays ignored.
//
// SIGPIPE ends nothing: a terminal or a pipe that nobody reads any more costs
// the output alone.
func Context(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	signals := slices.DeleteFunc(slices.Clone(ends), signal.Ignored)
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, unix.SIGPIPE)
	ctx, cancel := signal.NotifyContext(parent, signals...)
	return ctx, func() {
		cancel()
		signal.Stop(unread)
	}
}
