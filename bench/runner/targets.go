package runner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/settings"
	"piecebench/piece"
)

// resolve gives each of the lab's targets its URL. labTargets is a list
// name=URL,name=URL, as the lab hands it to the runner.
func resolve(targets []settings.Target, labTargets string) ([]settings.Target, error) {
	lab := map[string]string{}
	for _, field := range strings.Split(labTargets, ",") {
		if name, address, ok := strings.Cut(field, "="); ok {
			lab[name] = address
		}
	}
	resolved := make([]settings.Target, len(targets))
	for i, t := range targets {
		if t.URL == "" {
			t.URL = lab[t.Name]
		}
		if t.URL == "" {
			return nil, fmt.Errorf("target %s is a server of the lab, and no lab runs this: use make bench, or name your own server: --targets '%s=http://host/piece/%s'",
				t.Name, t.Name, settings.PiecePlaceholder)
		}
		resolved[i] = t
	}
	return resolved, nil
}

// answerTimeout bounds the one request that shows that a target works.
const answerTimeout = 10 * time.Second

// checkAnswers asks a target for the first byte of the first piece, and refuses
// one that does not answer as a piece server.
func checkAnswers(ctx context.Context, target settings.Target, p piece.Piece) error {
	ctx, stop := context.WithTimeout(ctx, answerTimeout)
	defer stop()
	address := strings.ReplaceAll(target.URL, settings.PiecePlaceholder, p.CID)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("target %s: %w", target.Name, err)
	}
	request.Close = true // or the connection stays, idle, among those of the cells
	request.Header.Set("Range", "bytes=0-0")
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("target %s does not answer: %w", target.Name, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 1)
	if response.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("target %s answers %s to a request for one byte of %s, not 206: does it have the manifest's pieces, and ranges?", target.Name, response.Status, address)
	}
	_, total, _ := strings.Cut(response.Header.Get("Content-Range"), "/")
	if size, err := strconv.ParseInt(total, 10, 64); err != nil || size != p.UnpaddedSize() {
		return fmt.Errorf("target %s serves %s with Content-Range %q where the manifest has %d bytes: another dataset?", target.Name, address, response.Header.Get("Content-Range"), p.UnpaddedSize())
	}
	return nil
}
