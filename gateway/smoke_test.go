package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"piecebench/gateway"
	"piecebench/gateway/internal/fixture"
)

func TestServesWhatNginxServes(t *testing.T) {
	d := fixture.NewDataset(t, 9<<20, 127*1024, 65, 127*8192-100)
	servers := map[string]string{"nginx": fixture.StartNginx(t, d)}
	for _, store := range []string{"flat", "unsealed"} {
		servers[store] = fixture.StartGateway(t, d, func(c *gateway.Config) { c.Store = store })
	}
	for _, p := range d.Manifest.Pieces {
		want := d.Bytes(t, p)
		for name, address := range servers {
			for _, r := range [][2]int64{{0, 1}, {0, p.UnpaddedSize()}, {126, 2}, {1, 8389747}, {127*1024 - 1, 127*1024 + 2}} {
				if r[0]+r[1] > p.UnpaddedSize() {
					continue
				}
				req, _ := http.NewRequest("GET", "http://"+address+"/piece/"+p.CID, nil)
				req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", r[0], r[0]+r[1]-1))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 206 || !bytes.Equal(got, want[r[0]:r[0]+r[1]]) {
					t.Errorf("%s: %v: %v %v, %d bytes", name, r, resp.Status, err, len(got))
				}
			}
		}
	}
}
