package netem

import (
	"strings"
	"testing"
)

func TestADeviceIsFoundByItsAddress(t *testing.T) {
	for given, want := range map[string]string{"127.0.0.1": "lo", "lo": "lo", "no-such-device": "no-such-device"} {
		if name, err := deviceNamed(given); err != nil || name != want {
			t.Errorf("%s: device %q, error %v; want %s", given, name, err, want)
		}
	}
	if _, err := deviceNamed("203.0.113.77"); err == nil || !strings.Contains(err.Error(), "203.0.113.77") {
		t.Errorf("an address that no device has: error %v", err)
	}
}
