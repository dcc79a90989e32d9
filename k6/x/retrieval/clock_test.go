package retrieval

import (
	"testing"
	"time"
)

func TestAClockThatIsSetIsNoticed(t *testing.T) {
	for wall, set := range map[time.Duration]bool{
		10 * time.Second: false, 10*time.Second + 5*time.Millisecond: false,
		10*time.Second - time.Hour: true, 11 * time.Second: true,
	} {
		if err := clockSet(wall, 10*time.Second); (err != nil) != set {
			t.Errorf("%s of the wall clock in 10 s: %v", wall, err)
		}
	}
}
