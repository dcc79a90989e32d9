package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheDashboardsAreThoseThatAreGenerated(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "grafana", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes: run make dashboards", name)
		}
	}
}
