package commp

import (
	"bytes"
	"testing"
)

// TestSumVectors checks published commitments: of FRC-0069, go-fil-commcid and
// go-fil-commp-hashhash.
func TestSumVectors(t *testing.T) {
	fill := func(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }
	four := bytes.Join([][]byte{fill(0, 127), fill(1, 127), fill(2, 127), fill(3, 127)}, nil)
	for _, v := range []struct {
		name    string
		payload []byte
		v1, v2  string
	}{
		{name: "127 x 00", payload: fill(0, 127), v2: "bafkzcibcaabdomn3tgwgrh3g532zopskstnbrd2n3sxfqbze7rxt7vqn7veigmy"},
		{name: "128 x 00", payload: fill(0, 128), v2: "bafkzcibcpybwiktap34inmaex4wbs6cghlq5i2j2yd2bb2zndn5ep7ralzphkdy"},
		{"127 each of 00 01 02 03", four,
			"baga6ea4seaqes3nobte6ezpp4wqan2age2s5yxcatzotcvobhgcmv5wi2xh5mbi",
			"bafkzcibcaaces3nobte6ezpp4wqan2age2s5yxcatzotcvobhgcmv5wi2xh5mbi"},
		{"127 each of 00 01 02 03, 4 x 00", append(four, 0, 0, 0, 0),
			"baga6ea4seaqn42av3szurbbscwuu3zjssvfwbpsvbjf6y3tukvlgl2nf5rha6pa",
			"bafkzcibd7abqlxticxolgseegik2stpfgkkuwyf6kufex3doorkvmzpjuxwe4dz4"},
		{name: "96 x CC", payload: fill(0xcc, 96), v1: "baga6ea4seaqhwcjhi4krhl3ht6dewnwevkpxbepxy7p7onwgz65t52typbsysby"},
		{name: "127 x CC", payload: fill(0xcc, 127), v1: "baga6ea4seaqmfldjtozgne6adk7eve2vdxte7vzlivae7nzsbrawobo546zkijq"},
		{name: "1024 x CC", payload: fill(0xcc, 1024), v1: "baga6ea4seaqdlpnhgsndrgjeu4p46hahlsr4lybg6du4d56ooppdpxhcofxeuoi"},
		{name: "1024 x 00", payload: fill(0, 1024), v1: "baga6ea4seaqpy7usqklokfx2vxuynmupslkeutzexe2uqurdg5vhtebhxqmpqmy"},
	} {
		t.Run(v.name, func(t *testing.T) {
			c, err := Sum(bytes.NewReader(v.payload))
			if err != nil {
				t.Fatal(err)
			}
			if v.v1 != "" && c.V1().String() != v.v1 {
				t.Errorf("v1 %s, want %s", c.V1(), v.v1)
			}
			if v.v2 != "" && c.String() != v.v2 {
				t.Errorf("v2 %s, want %s", c, v.v2)
			}
		})
	}
}
