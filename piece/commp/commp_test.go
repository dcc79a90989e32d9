package commp_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"piecebench/piece/commp"
	"piecebench/piece/fr32"
	"piecebench/piece/payload"
	"piecebench/piece/piececid"
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
			c, err := commp.Sum(bytes.NewReader(v.payload))
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

// sumSlowly computes the piece CID over the whole piece in one tree.
func sumSlowly(t *testing.T, data []byte) piececid.CID {
	t.Helper()
	padded, err := piececid.PaddedSize(int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	whole := make([]byte, padded/fr32.Padded*fr32.Payload)
	copy(whole, data)
	leaves := make([]byte, padded)
	fr32.Pad(leaves, whole)
	c, err := piececid.V2(rootSlowly(leaves), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rootSlowly is an independent commp.Root.
func rootSlowly(tree []byte) (root piececid.Root) {
	if len(tree) == 32 {
		return piececid.Root(tree)
	}
	left, right := rootSlowly(tree[:len(tree)/2]), rootSlowly(tree[len(tree)/2:])
	root = sha256.Sum256(append(left[:], right[:]...))
	root[31] &= 0x3f
	return root
}

// TestSumInPartsIsTheWholeTree takes sizes around those of a part, and of
// pieces of several parts with and without whole parts of zeros.
func TestSumInPartsIsTheWholeTree(t *testing.T) {
	const part = commp.PartPayload
	data := make([]byte, 5*part)
	rand.NewChaCha8([32]byte{2}).Read(data)
	for _, n := range []int{65, 126, part/2 - 1, part - 1, part, part + 1, 2*part - 1, 2 * part, 2*part + 1, 3 * part, 4*part + 1, 5 * part} {
		want := sumSlowly(t, data[:n])
		for name, r := range map[string]io.Reader{
			"at once":       bytes.NewReader(data[:n]),
			"in halves":     iotest.HalfReader(bytes.NewReader(data[:n])),
			"EOF with data": iotest.DataErrReader(bytes.NewReader(data[:n])),
		} {
			if got, err := commp.Sum(r); err != nil || got != want {
				t.Errorf("%d bytes, %s: %v, %v; want %v", n, name, got, err, want)
			}
		}
	}
}

func TestSumRefuses(t *testing.T) {
	for _, n := range []int{0, 1, 64} {
		if c, err := commp.Sum(bytes.NewReader(make([]byte, n))); err == nil {
			t.Errorf("%d bytes have the piece CID %v", n, c)
		}
	}
	// A reader that breaks off is not one that ends, whatever its error.
	for _, broken := range []error{errors.New("disk on fire"), io.ErrUnexpectedEOF} {
		r := io.MultiReader(bytes.NewReader(make([]byte, 3_000_000)), iotest.ErrReader(broken))
		if c, err := commp.Sum(r); !errors.Is(err, broken) {
			t.Errorf("%v: got %v, %v", broken, c, err)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	data := make([]byte, 64<<20)
	payload.New(1, 0).Fill(data, 0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := commp.Sum(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
