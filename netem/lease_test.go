package netem

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"piecebench/netem/client"
)

// put sends a body and returns the status and, of 200, the state.
func (a *testAgent) put(path, body string) (int, client.State) {
	a.lab.t.Helper()
	request, err := http.NewRequest(http.MethodPut, "http://"+controlAddr+path, strings.NewReader(body))
	if err != nil {
		a.lab.t.Fatal(err)
	}
	response, err := a.HTTP.Do(request)
	if err != nil {
		a.lab.t.Fatal(err)
	}
	defer response.Body.Close()
	var state client.State
	if response.StatusCode == http.StatusOK {
		err = json.NewDecoder(response.Body).Decode(&state)
	} else {
		_, err = io.Copy(io.Discard, response.Body)
	}
	if err != nil {
		a.lab.t.Fatal(err)
	}
	return response.StatusCode, state
}

// awaitRestored waits until the servers' namespace is as it was.
func (l *testLab) awaitRestored(before string) {
	l.t.Helper()
	var after string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if after = l.networkState(); after == before {
			return
		}
	}
	l.t.Errorf("the agent does not put everything back:\n%s", difference(before, after))
}

const leased = `{"rate_bits":100000000,"delay_ms":5,"loss":0,"lease_s":`

func TestARunnerThatFallsSilentLeavesNothingShaped(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	before := l.networkState()
	if code, state := a.put("/link", leased+`0.5}`); code != 200 || state.LeaseS != 0.5 || state.Lease == "" {
		t.Fatalf("%d %+v", code, state)
	}
	if l.networkState() == before {
		t.Fatal("the link changed nothing, or this test does not see it")
	}
	l.awaitRestored(before)
	if state, err := a.Link(context.Background()); err != nil || state.RateBits != 0 || state.Lease != "" {
		t.Errorf("the agent says %+v, %v", state, err)
	}
	if !strings.Contains(a.log.String(), "silent") {
		t.Error("the agent's log does not say why")
	}
	a.set("100mbit/5ms") // a runner that comes back finds an agent that works
	if got := l.rtts(shapedAddr, 5)[0]; got < 5*time.Millisecond {
		t.Errorf("after that the RTT is %v, want 5ms", got)
	}
}

func TestALeaseLastsAsLongAsItWasRenewedFor(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	before := l.networkState()
	_, state := a.put("/link", leased+`3600}`)
	renew := func(lease, seconds string, want int) {
		t.Helper()
		if code, _ := a.put("/lease", `{"lease":"`+lease+`","lease_s":`+seconds+`}`); code != want {
			t.Errorf("renewing %q for %s s: %d, want %d", lease, seconds, code, want)
		}
	}
	renew("another", "0", 410)
	renew("", "0", 410)
	renew(state.Lease, "-1", 400)
	renew(state.Lease, "1e9", 400)
	renew(state.Lease, "7200", 200)
	if now, err := a.Link(context.Background()); err != nil || now.LeaseS != 7200 || now.RateBits != 1e8 {
		t.Errorf("after renewing: %+v, %v", now, err)
	}
	renew(state.Lease, "0.2", 200)
	l.awaitRestored(before)
	renew(state.Lease, "60", 410)

	_, state = a.put("/link", leased+`3600}`)
	renew(state.Lease, "0", 200)
	l.awaitRestored(before)
}

func TestALinkSetByHandOutlivesTheLeaseBeforeIt(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	_, state := a.put("/link", leased+`0.3}`)
	a.set("50mbit/5ms")
	if code, _ := a.put("/lease", `{"lease":"`+state.Lease+`","lease_s":0}`); code != 410 {
		t.Errorf("ending the lease of a link that is gone: %d, want 410", code)
	}
	time.Sleep(500 * time.Millisecond) // for the lease to run out wrongly; a machine that is slower proves less
	if now, err := a.Link(context.Background()); err != nil || now.RateBits != 5e7 || now.Lease != "" {
		t.Errorf("the link is %+v, %v; want the one set by hand", now, err)
	}
}
