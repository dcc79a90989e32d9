package runner

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"piecebench/bench/settings"
	"piecebench/internal/plain"
	"piecebench/k6/x/retrieval/httpget"
	"piecebench/piece"
	"piecebench/piece/pieceurl"
	"piecebench/records"
)

// resolve gives each of the lab's targets its URL. labTargets is a list
// name=URL,name=URL, as the lab hands it to the runner;
// a server of pieces and objects is there with the URL of each.
func resolve(targets []settings.Target, labTargets string) ([]settings.Target, error) {
	lab := map[string]settings.Target{}
	for _, field := range strings.Split(labTargets, ",") {
		if name, address, ok := strings.Cut(field, "="); ok {
			t := lab[name]
			if t.Name = name; strings.Contains(address, settings.ObjectPlaceholder) {
				t.ObjectURL = address
			} else {
				t.URL = address
			}
			lab[name] = t
		}
	}
	resolved := make([]settings.Target, len(targets))
	for i, t := range targets {
		if t.InLab() {
			t = lab[t.Name]
		}
		if t.InLab() && len(lab) > 0 {
			return nil, fmt.Errorf("target %s is not in the lab that is up, which has %s: bring it up with --targets %s", targets[i].Name,
				strings.Join(slices.Sorted(maps.Keys(lab)), ", "), targets[i].Name)
		}
		if t.InLab() {
			return nil, fmt.Errorf("target %s is a server of the lab, and no lab runs this: use make bench, or name your own server: --targets '%s=http://host/piece/%s'",
				targets[i].Name, targets[i].Name, pieceurl.V1)
		}
		resolved[i] = t
	}
	return resolved, nil
}

// answerTimeout bounds the one request that shows that a target works.
const answerTimeout = 10 * time.Second

// checkAnswers asks a target for the first byte of the first piece, as clients
// will, and refuses one that does not answer as a piece server. Of one that has only
// objects nothing is known that it could be asked for.
func checkAnswers(ctx context.Context, target settings.Target, p piece.Piece, insecure bool) error {
	if target.URL == "" {
		return nil
	}
	address, size, err := p.URL(target.URL)
	shown := plain.URL(address)
	if err != nil {
		return fmt.Errorf("target %s: the URL has %w", target.Name, err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("target %s: %s is no URL", target.Name, shown)
	}
	c := httpget.New(httpget.Config{
		Dial: new(net.Dialer).DialContext, UserAgent: "piecebench",
		TLS: &tls.Config{InsecureSkipVerify: insecure}, Header: target.Header,
		Fresh:        true, // or the connection stays, idle, among those of the cells
		MaxRedirects: maxRedirects, Timeout: answerTimeout,
	})
	defer c.Close()
	r := c.Get(ctx, httpget.Request{URL: u, Length: 1, Size: size})
	switch {
	case r.Outcome == records.OK:
		return nil
	case r.Outcome == records.Cut:
		return fmt.Errorf("%w while target %s was asked for a byte", ErrInterrupted, target.Name)
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fmt.Errorf("target %s at %s: %s: does it want a user and password? Name them in the URL, http://user:password@host/..., in the environment variable TARGETS, or a file of headers in HEADERS", target.Name, shown, r.Error)
	case r.Outcome == records.Range:
		return fmt.Errorf("target %s at %s, asked for one byte of a piece with %d: %s: another dataset, or no ranges?", target.Name, shown, size, r.Error)
	case r.Status != 0:
		return fmt.Errorf("target %s at %s, asked for one byte: %s: does it have the manifest's pieces, and ranges?", target.Name, shown, r.Error)
	}
	return fmt.Errorf("target %s at %s does not answer: %s", target.Name, shown, r.Error)
}

// maxRedirects is k6's own.
const maxRedirects = 10
