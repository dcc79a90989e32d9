package bytesize

import "testing"

func TestParseIsUndoneByString(t *testing.T) {
	for s, want := range map[string]int64{"1B": 1, "127B": 127, "1KiB": 1024, "512MiB": 512 << 20, "32GiB": 32 << 30, "2TiB": 2 << 40} {
		got, err := Parse(s)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", s, got, err, want)
		}
		if back := String(got); back != s {
			t.Errorf("String(%d) = %q; want %q", got, back, s)
		}
	}
	if got, err := Parse("1000"); err != nil || got != 1000 {
		t.Errorf("a number without unit is bytes: got %d, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "0", "0MiB", "-1MiB", "1MB", "1 MiB", "1.5GiB", "MiB", "1mib", "99999999999999999999", "9223372036854775807KiB", "8388608TiB"} {
		if n, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", s, n)
		}
	}
}
