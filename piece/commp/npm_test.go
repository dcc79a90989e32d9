package commp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/internal/contained"
	"piecebench/piece/commp"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

// TestAgainstDataSegment compares commitments of random sizes with those of
// @web3-storage/data-segment, an implementation in JavaScript that is
// independent of this one. testdata/package.json pins its version.
func TestAgainstDataSegment(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: comparison with npm's @web3-storage/data-segment: -short")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "sum.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: comparison with npm's @web3-storage/data-segment: npm install: %v\n%s", err, out)
	}

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var input bytes.Buffer
	var payloads [][]byte
	sizes := []int{65, 127, 128, 254, 255, commp.PartPayload, commp.PartPayload + 1}
	for range 12 {
		sizes = append(sizes, 65+random.IntN(1<<(8+random.IntN(14))))
	}
	for _, size := range sizes {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		payloads = append(payloads, data)
		fmt.Fprintln(&input, size)
		input.Write(data)
	}

	node := exec.Command("node", "sum.mjs")
	node.Dir, node.Stdin, node.Stderr = dir, &input, os.Stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(payloads) {
		t.Fatalf("%d lines for %d payloads", len(lines), len(payloads))
	}
	for i, data := range payloads {
		c, err := commp.Sum(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.V1(), " ", c); got != lines[i] {
			t.Errorf("%d bytes: %s, data-segment has %s", len(data), got, lines[i])
		}
	}
}
