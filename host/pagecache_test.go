package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEvictAndWarm(t *testing.T) {
	name := filepath.Join(t.TempDir(), "piece")
	if err := os.WriteFile(name, make([]byte, 8<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if share, err := Resident(name); err != nil || share < 0.9 {
		t.Fatalf("a file just written is resident to %v, %v; want all of it", share, err)
	}
	if err := EvictPageCache([]string{name}); err != nil {
		t.Skipf("SKIPPED: this file system keeps its pages: %v", err)
	}
	if share, err := Resident(name); err != nil || share > 0.01 {
		t.Fatalf("after Evict %v of the file is resident, %v", share, err)
	}
	if err := WarmPageCache([]string{name}); err != nil {
		t.Fatal(err)
	}
	// The kernel may take pages back at any time.
	if share, err := Resident(name); err != nil || share < 0.9 {
		t.Fatalf("after Warm %v of the file is resident, %v; want all of it", share, err)
	}
}

func TestMissingFile(t *testing.T) {
	missing := []string{filepath.Join(t.TempDir(), "none")}
	if WarmPageCache(missing) == nil || EvictPageCache(missing) == nil {
		t.Error("a missing file is no error")
	}
}
