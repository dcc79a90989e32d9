package piececid_test

import (
	"math"
	"strings"
	"testing"

	"piecebench/piece/piececid"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"
	"github.com/multiformats/go-varint"
)

// The published pair of 127 bytes each of 00, 01, 02 and 03, and of the same
// with four zeros more.
const (
	fourV1  = "baga6ea4seaqes3nobte6ezpp4wqan2age2s5yxcatzotcvobhgcmv5wi2xh5mbi"
	fourV2  = "bafkzcibcaaces3nobte6ezpp4wqan2age2s5yxcatzotcvobhgcmv5wi2xh5mbi"
	extraV1 = "baga6ea4seaqn42av3szurbbscwuu3zjssvfwbpsvbjf6y3tukvlgl2nf5rha6pa"
	extraV2 = "bafkzcibd7abqlxticxolgseegik2stpfgkkuwyf6kufex3doorkvmzpjuxwe4dz4"
)

func TestParseVectors(t *testing.T) {
	for _, v := range []struct {
		v1, v2          string
		payload, padded int64
	}{
		{fourV1, fourV2, 508, 512},
		{extraV1, extraV2, 512, 1024},
	} {
		v1, err := piececid.Parse(v.v1)
		if err != nil {
			t.Fatal(err)
		}
		if v1.Version != 1 || v1.PayloadSize != 0 || v1.PaddedSize != 0 || v1.String() != v.v1 {
			t.Errorf("%s is read as %+v", v.v1, v1)
		}
		v2, err := piececid.Parse(v.v2)
		if err != nil {
			t.Fatal(err)
		}
		if v2.Version != 2 || v2.PayloadSize != v.payload || v2.PaddedSize != v.padded || v2.String() != v.v2 {
			t.Errorf("%s is read as %+v, want payload %d, padded %d", v.v2, v2, v.payload, v.padded)
		}
		if v2.V1() != v1 {
			t.Errorf("v1 of %s is %s, want %s", v.v2, v2.V1(), v.v1)
		}
		if made, err := piececid.V2(v1.Root, v.payload); err != nil || made != v2 {
			t.Errorf("V2 of %d bytes = %+v, %v; want %+v", v.payload, made, err, v2)
		}
	}
}

func TestParseTakesEveryMultibase(t *testing.T) {
	want, err := piececid.Parse(fourV2)
	if err != nil {
		t.Fatal(err)
	}
	c := cid.MustParse(fourV2)
	for name, base := range multibase.Encodings {
		text, err := c.StringOfBase(base)
		if err != nil {
			continue // an encoding that the library knows by name only
		}
		if got, err := piececid.Parse(text); err != nil || got != want {
			t.Errorf("%s: Parse(%q) = %+v, %v", name, text, got, err)
		}
	}
}

// v2Text makes a v2 CID of any padding and height.
func v2Text(t *testing.T, codec, padding uint64, height byte, root int, extra ...byte) string {
	t.Helper()
	digest := append(varint.ToUvarint(padding), height)
	digest = append(digest, make([]byte, root)...)
	mh, err := multihash.Encode(digest, 0x1011)
	if err != nil {
		t.Fatal(err)
	}
	raw := append(cid.NewCidV1(codec, mh).Bytes(), extra...)
	text, err := multibase.Encode(multibase.Base32, raw)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseTakesTheMostPadding(t *testing.T) {
	// 65 of 127 bytes, and half a piece and one byte more.
	for _, v := range []struct {
		padding uint64
		height  byte
		payload int64
	}{{62, 2, 65}, {1016/2 - 1, 5, 509}, {34_091_302_912/2 - 1, 30, 34_091_302_912/2 + 1}} {
		c, err := piececid.Parse(v2Text(t, cid.Raw, v.padding, v.height, 32))
		if err != nil || c.PayloadSize != v.payload {
			t.Errorf("padding %d, height %d: payload %d, %v; want %d", v.padding, v.height, c.PayloadSize, err, v.payload)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	v1Hash := func(code uint64, size int) string {
		mh, _ := multihash.Encode(make([]byte, size), code)
		return cid.NewCidV1(cid.FilCommitmentUnsealed, mh).String()
	}
	for name, text := range map[string]string{
		"nothing":                  "",
		"no CID":                   "hello",
		"CIDv0":                    "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
		"a CAR root":               "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
		"an IPFS path":             "/ipfs/" + fourV1,
		"a cut off CID":            fourV1[:len(fourV1)-3],
		"spaces":                   " " + fourV1,
		"a suffix":                 fourV1 + ".car",
		"sealed commitment":        "bagboea4b5abcatlxechwbp7kjpjguna6r6q7ejrhe6mdp3lf34pmswn27pkkiekz",
		"v1, 31 bytes":             v1Hash(0x1012, 31),
		"v1, sha2-256":             v1Hash(0x12, 32),
		"v1, v2's multihash":       v1Hash(0x1011, 34),
		"v2, padding half":         v2Text(t, cid.Raw, 63, 2, 32),
		"v2, padding all":          v2Text(t, cid.Raw, 127, 2, 32),
		"v2, padding huge":         v2Text(t, cid.Raw, math.MaxInt64, 30, 32),
		"v2, height 1":             v2Text(t, cid.Raw, 0, 1, 32),
		"v2, height 0":             v2Text(t, cid.Raw, 0, 0, 32),
		"v2, height 58":            v2Text(t, cid.Raw, 0, 58, 32),
		"v2, height 255":           v2Text(t, cid.Raw, 0, 255, 32),
		"v2, 31 byte root":         v2Text(t, cid.Raw, 0, 4, 31),
		"v2, 33 byte root":         v2Text(t, cid.Raw, 0, 4, 33),
		"v2, v1's codec":           v2Text(t, cid.FilCommitmentUnsealed, 0, 4, 32),
		"v2, dag-pb":               v2Text(t, cid.DagProtobuf, 0, 4, 32),
		"v2, trailing byte":        v2Text(t, cid.Raw, 0, 4, 32, 0),
		"long text":                "z" + strings.Repeat("2", 100_000),
		"long text of a known one": fourV1 + strings.Repeat("a", 600),
	} {
		c, err := piececid.Parse(text)
		if err == nil {
			t.Errorf("%s: %q is read as %+v", name, text, c)
			continue
		}
		if m := err.Error(); strings.Contains(m, "\n") || len(m) > 300 {
			t.Errorf("%s: the error is not one short line: %q", name, m)
		}
	}
}

func TestPaddedSize(t *testing.T) {
	for payload, want := range map[int64]int64{
		65: 128, 127: 128, 128: 256, 254: 256, 255: 512, 1016: 1024, 1017: 2048,
		34_091_302_912: 32 << 30, 34_091_302_913: 64 << 30,
	} {
		if got, err := piececid.PaddedSize(payload); err != nil || got != want {
			t.Errorf("PaddedSize(%d) = %d, %v; want %d", payload, got, err, want)
		}
	}
	for _, payload := range []int64{-1, 0, 64, math.MaxInt64} {
		if got, err := piececid.PaddedSize(payload); err == nil {
			t.Errorf("PaddedSize(%d) = %d, want an error", payload, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{fourV1, fourV2, extraV2, "", "b", "z2", "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := piececid.Parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		if again, err := piececid.Parse(c.String()); err != nil || again != c {
			t.Errorf("%q is %+v, but its text %s is %+v, %v", text, c, c, again, err)
		}
		if c.Version == 2 {
			if made, err := piececid.V2(c.Root, c.PayloadSize); err != nil || made != c {
				t.Errorf("%q is %+v, which V2 makes %+v, %v", text, c, made, err)
			}
		}
	})
}
