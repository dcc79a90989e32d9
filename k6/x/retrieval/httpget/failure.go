package httpget

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"piecebench/records"
)

// failure is an error whose outcome is known where it happens.
type failure struct {
	outcome records.Outcome
	text    string
	cause   error // nil when the server's answer is
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

func fail(outcome records.Outcome, format string, args ...any) error {
	return &failure{outcome: outcome, text: fmt.Sprintf(format, args...)}
}

// errCut ends a request whose context is done.
var errCut = &failure{outcome: records.Cut}

// failAs gives err an outcome, unless it has one: deadlines and cancellation
// can strike in any phase.
func failAs(outcome records.Outcome, what string, err error) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	return &failure{outcome, what + ": " + reason(err), err}
}

func classify(ctx context.Context, err error) (records.Outcome, string) {
	if ctx.Err() != nil {
		return records.Cut, ""
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		return f.outcome, f.text
	}
	return records.Reset, reason(err)
}

// reason is the text of err without addresses. With the client's port in it, every
// failure would have a different text.
func reason(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
