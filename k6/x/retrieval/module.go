// Package retrieval is the k6 extension k6/x/retrieval: it downloads pieces, or
// ranges of them, and accounts for every request and every byte.
//
//	import { Client } from 'k6/x/retrieval';
//
//	const client = new Client(__ENV.CELL); // JSON: records.Cell
//
//	export default function () {
//	  client.get();
//	}
//
// All clients of a test that are made with the same cell share one file of
// records and one sequence of progress lines. k6's own options hold for them:
// hosts, dns, blacklistIPs, blockHostnames, localIPs, tls*,
// insecureSkipTLSVerify, userAgent, maxRedirects, noConnectionReuse, rps, tags,
// systemTags. A proxy from the environment is not used.
package retrieval

import (
	"sync"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"

	"piecebench/records"
)

func init() { modules.Register("k6/x/retrieval", &root{cells: make(map[string]*cell)}) }

// root is the module: one a process.
type root struct {
	process process

	mu    sync.Mutex
	cells map[string]*cell // by the text of records.Cell
}

// instance is the module in one VU.
type instance struct {
	root *root
	vu   modules.VU
}

// NewModuleInstance implements modules.Module.
func (r *root) NewModuleInstance(vu modules.VU) modules.Instance { return &instance{r, vu} }

// Exports implements modules.Instance.
func (i *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"Client": i.newClient, "compute": i.compute}}
}

// newClient is the constructor of Client, for the init context.
func (i *instance) newClient(call sobek.ConstructorCall) *sobek.Object {
	rt := i.vu.Runtime()
	if i.vu.InitEnv() == nil {
		common.Throw(rt, common.NewInitContextError("a retrieval Client can only be made in the init context"))
	}
	cl, err := i.root.cell(call.Argument(0).String(), i.vu)
	if err != nil {
		common.Throw(rt, err)
	}
	if err := (&client{vu: i.vu, cell: cl}).expose(call.This); err != nil {
		common.Throw(rt, err)
	}
	return nil
}

// cell returns the state that all clients of this cell share. The first
// one makes it, and the test's end closes it.
func (r *root) cell(text string, vu modules.VU) (*cell, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.cells[text]; c != nil {
		return c, nil
	}
	opts, err := records.ParseCell(text)
	if err != nil {
		return nil, err
	}
	c, err := newCell(opts, &r.process, vu.InitEnv())
	if err != nil {
		return nil, err
	}
	r.cells[text] = c
	r.closeAtEnd(text, c, vu)
	return c, nil
}

// The numbers of k6's global events, whose names are internal to it.
const (
	eventTestEnd = 3
	eventExit    = 6
)

// closeAtEnd closes c when the test ends. TestEnd comes after the last request
// and before k6 stops taking samples; Exit comes alone when k6 fails before
// the test has started.
func (r *root) closeAtEnd(text string, c *cell, vu modules.VU) {
	_, events := vu.Events().Global.Subscribe(eventTestEnd, eventExit)
	go func() {
		for ev := range events {
			c.close()
			r.mu.Lock()
			delete(r.cells, text)
			r.mu.Unlock()
			ev.Done()
		}
	}()
}
