package piece_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/piece"
	"piecebench/piece/piececid"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// newPiece returns a valid generated piece whose root is its index.
func newPiece(index uint64, payload int64, sectorOffset int64) piece.Piece {
	v2, err := piececid.V2(piececid.Root{byte(index), 1}, payload)
	if err != nil {
		panic(err)
	}
	v1 := v2.V1().String()
	return piece.Piece{
		Index: index, CID: v1, CIDv2: v2.String(),
		PayloadSize: payload, PaddedSize: v2.PaddedSize,
		Flat: "flat/" + v1, Sector: "sectors/s-t01000-0", SectorOffset: sectorOffset,
	}
}

// valid returns a manifest of two generated pieces, one that was imported by
// version 1, of two blocks, and one by version 2.
func valid() *piece.Manifest {
	m := &piece.Manifest{Version: 2, Seed: 9, Pieces: []piece.Piece{
		newPiece(0, 1016, 0), newPiece(1, 1016, 1024), newPiece(2, 1_100_000, 2<<20), newPiece(3, 1016, 2048),
	}}
	m.Pieces[2].Checksums = []string{"0123456789abcdef", "fedcba9876543210"}
	m.Pieces[3].ChecksumFile = &piece.ChecksumFile{Path: "checksums/3", SHA256: strings.Repeat("0123456789abcdef", 4)}
	return m
}

// A generated dataset keeps its manifest's bytes, by which runs know it.
func TestManifestsWithoutChecksumFilesAreOfVersion1(t *testing.T) {
	m := valid()
	m.Pieces = m.Pieces[:3]
	path := filepath.Join(t.TempDir(), piece.ManifestName)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := piece.Load(path); err != nil || got.Version != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// remote returns a piece that only a server has.
func remote(index uint64, payload int64) piece.Piece {
	p := newPiece(index, payload, 0)
	p.Flat, p.Sector = "", ""
	return p
}

func TestAPieceOnAServerNeedsNoFile(t *testing.T) {
	m := &piece.Manifest{Version: piece.ManifestVersion, Pieces: []piece.Piece{remote(0, 1000)}}
	path := filepath.Join(t.TempDir(), piece.ManifestName)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := piece.Load(path)
	if err != nil || got.Version != 3 || got.Pieces[0].Generated() || len(got.Files()) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAURLHasTheCIDOfItsTemplateAndTheSizeThatBelongsToIt(t *testing.T) {
	p := newPiece(0, 1000, 0)
	for template, want := range map[string]struct {
		url  string
		size int64
	}{
		"http://h/piece/{piece}":    {"http://h/piece/" + p.CID, 1016},
		"http://h/piece/{piece_v2}": {"http://h/piece/" + p.CIDv2, 1000},
	} {
		if address, size, err := p.URL(template); err != nil || address != want.url || size != want.size {
			t.Errorf("%s: %s, %d, %v; want %+v", template, address, size, err, want)
		}
	}
	p.PayloadOnly = true
	if _, size, _ := p.URL("http://h/piece/{piece}"); size != 1000 {
		t.Errorf("of a server that gives the payload only: %d bytes, want 1000", size)
	}
	for _, template := range []string{"http://h/piece", "http://h/{piece}/{piece_v2}"} {
		if _, _, err := p.URL(template); err == nil {
			t.Errorf("%s is taken", template)
		}
	}
}

func TestRangesThatCannotBeVerifiedAreRefused(t *testing.T) {
	m := valid()
	generated, version1, version2 := m.Pieces[:2], m.Pieces[2:3], []piece.Piece{newPiece(3, 100<<10, 0)}
	version2[0].ChecksumFile = m.Pieces[3].ChecksumFile
	for _, v := range []struct {
		pieces []piece.Piece
		length int64
		verify bool
		says   string // empty: accepted
	}{
		{generated, 1000, true, ""},
		{generated, 1017, false, "larger than piece"},
		{generated, 0, true, ""}, // the whole piece
		{version1, 1 << 20, true, ""},
		{version1, 64 << 10, true, "import its file again"},
		{version1, 64 << 10, false, ""},
		{version1, 0, true, ""},
		{version2, 48 << 10, true, ""},
		{[]piece.Piece{remote(4, 1000)}, 0, true, "dataset add --verify"},
		{[]piece.Piece{remote(4, 1000)}, 1000, false, ""},
		{version2, 4 << 10, true, "16KiB"},
		{version2, 40 << 10, true, "VERIFY=0"},
		{version2, 40 << 10, false, ""},
	} {
		err := (&piece.Manifest{Pieces: v.pieces}).CheckRanges(v.length, 1, v.verify)
		switch {
		case v.says == "" && err != nil:
			t.Errorf("%d bytes of %s: %v", v.length, v.pieces[0].CID, err)
		case v.says != "" && (err == nil || !strings.Contains(err.Error(), v.says) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%d bytes of %s: error %v, want one line with %q", v.length, v.pieces[0].CID, err, v.says)
		}
	}
}

func TestLoadReadsWhatSaveWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), piece.ManifestName)
	for range 2 { // the second time over an existing file
		if err := valid().Save(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := piece.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valid(), got, cmpopts.IgnoreUnexported(piece.Manifest{})); diff != "" {
		t.Errorf("(-saved +loaded)\n%s", diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v; want 0644", info.Mode(), err)
	}
}

func TestFind(t *testing.T) {
	m := valid()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	parse := func(s string) piececid.CID {
		c, err := piececid.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, want := range m.Pieces {
		for _, text := range []string{want.CID, want.CIDv2} {
			if got, ok := m.Find(parse(text)); !ok || got.CID != want.CID {
				t.Errorf("%s: found %v %q", text, ok, got.CID)
			}
		}
	}
	otherSize, err := piececid.V2(parse(m.Pieces[0].CID).Root, 1015)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []piececid.CID{otherSize, piececid.V1(piececid.Root{99}), {}} {
		if p, ok := m.Find(c); ok {
			t.Errorf("%+v: found %q", c, p.CID)
		}
	}
}

func TestSizeAsVersion(t *testing.T) {
	p := newPiece(0, 1000, 0)
	if v1, v2 := p.SizeAs(1), p.SizeAs(2); v1 != 1016 || v2 != 1000 {
		t.Errorf("sizes as v1 and v2: %d, %d; want 1016, 1000", v1, v2)
	}
}

// faults are ways to break a manifest, and a part of the error of each.
var faults = map[string]struct {
	spoil func(m *piece.Manifest)
	says  string
}{
	"version 0":       {func(m *piece.Manifest) { m.Version = 0 }, "version 0"},
	"a later version": {func(m *piece.Manifest) { m.Version = 4 }, "version 4"},
	"no pieces":       {func(m *piece.Manifest) { m.Pieces = nil }, "no pieces"},
	"no CID":          {func(m *piece.Manifest) { m.Pieces[1].CID = "" }, "piece 1"},
	"CID of a CAR": {func(m *piece.Manifest) {
		m.Pieces[1].CID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
	}, "cid:"},
	"CID v2 as v1":             {func(m *piece.Manifest) { m.Pieces[0].CID = m.Pieces[0].CIDv2 }, "want v1"},
	"CID v1 as v2":             {func(m *piece.Manifest) { m.Pieces[0].CIDv2 = m.Pieces[0].CID }, "want v2"},
	"CID in capitals":          {func(m *piece.Manifest) { m.Pieces[0].CID = strings.ToUpper(m.Pieces[0].CID) }, "write it as"},
	"CIDs of two pieces":       {func(m *piece.Manifest) { m.Pieces[0].CIDv2 = m.Pieces[1].CIDv2 }, "different pieces"},
	"payload size":             {func(m *piece.Manifest) { m.Pieces[0].PayloadSize-- }, "cid_v2 says 1016"},
	"payload size 0":           {func(m *piece.Manifest) { m.Pieces[0].PayloadSize = 0 }, "payload_size"},
	"padded size 1000":         {func(m *piece.Manifest) { m.Pieces[0].PaddedSize = 1000 }, "padded_size is 1000"},
	"padded size, next one":    {func(m *piece.Manifest) { m.Pieces[0].PaddedSize = 2048 }, "padded_size is 2048"},
	"padded size negative":     {func(m *piece.Manifest) { m.Pieces[0].PaddedSize = -1024 }, "padded_size"},
	"no file":                  {func(m *piece.Manifest) { m.Pieces[0].Flat, m.Pieces[0].Sector = "", "" }, "neither"},
	"absolute path":            {func(m *piece.Manifest) { m.Pieces[0].Flat = "/etc/passwd" }, "/etc/passwd"},
	"path to above":            {func(m *piece.Manifest) { m.Pieces[0].Sector = "sectors/../../x" }, "leads out"},
	"same piece twice":         {func(m *piece.Manifest) { m.Pieces = append(m.Pieces, m.Pieces[0]) }, "same CID as piece 0"},
	"same index twice":         {func(m *piece.Manifest) { m.Pieces[1].Index = 0 }, "same index 0"},
	"same flat file twice":     {func(m *piece.Manifest) { m.Pieces[1].Flat = m.Pieces[0].Flat }, "shares bytes"},
	"same file, other path":    {func(m *piece.Manifest) { m.Pieces[1].Flat = "flat/../" + m.Pieces[0].Flat }, "shares bytes"},
	"flat file is the sector":  {func(m *piece.Manifest) { m.Pieces[1].Flat = m.Pieces[0].Sector }, "shares bytes"},
	"sector overlap":           {func(m *piece.Manifest) { m.Pieces[1].SectorOffset = 0 }, "shares bytes"},
	"sector overlap, within":   {func(m *piece.Manifest) { m.Pieces[1].SectorOffset = 3 << 20 }, "shares bytes"},
	"sector misaligned":        {func(m *piece.Manifest) { m.Pieces[1].SectorOffset = 1536 }, "not a multiple"},
	"sector offset negative":   {func(m *piece.Manifest) { m.Pieces[1].SectorOffset = -1024 }, "not a multiple"},
	"sector offset overflow":   {func(m *piece.Manifest) { m.Pieces[1].SectorOffset = 1<<63 - 1024 }, "not a multiple"},
	"one checksum of two":      {func(m *piece.Manifest) { m.Pieces[2].Checksums = m.Pieces[2].Checksums[:1] }, "1 checksums"},
	"three checksums of two":   {func(m *piece.Manifest) { m.Pieces[2].Checksums = append(m.Pieces[2].Checksums, "00") }, "3 checksums"},
	"checksum no hex":          {func(m *piece.Manifest) { m.Pieces[2].Checksums[1] = "0123456789abcdeg" }, "checksum 1"},
	"checksum short":           {func(m *piece.Manifest) { m.Pieces[2].Checksums[0] = "123" }, "checksum 0"},
	"checksums of both kinds":  {func(m *piece.Manifest) { m.Pieces[2].ChecksumFile = m.Pieces[3].ChecksumFile }, "want one of them"},
	"checksum file above":      {func(m *piece.Manifest) { m.Pieces[3].ChecksumFile.Path = "../x" }, "leads out"},
	"checksum file is a piece": {func(m *piece.Manifest) { m.Pieces[3].ChecksumFile.Path = m.Pieces[0].Flat }, "shares bytes"},
	"checksum file unnamed":    {func(m *piece.Manifest) { m.Pieces[3].ChecksumFile.Path = "" }, "want a path"},
	"digest of no file":        {func(m *piece.Manifest) { m.Pieces[3].ChecksumFile.SHA256 = "12" }, "64 hex digits"},
}

func TestLoadRefusesFaultsAndNamesThem(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			m := valid()
			fault.spoil(m)
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			checkRefused(t, string(data), fault.says)
			path := filepath.Join(t.TempDir(), "new.json")
			if err := m.Save(path); err == nil {
				t.Error("Save writes it")
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file is left")
			}
		})
	}
}

func TestLoadRefusesOtherText(t *testing.T) {
	good, err := json.Marshal(valid())
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct{ text, says string }{
		"empty":         {"", "empty"},
		"not JSON":      {"pieces", "not JSON"},
		"cut off":       {string(good[:len(good)/2]), "not JSON"},
		"two objects":   {string(good) + "{}", "text after"},
		"rubbish after": {string(good) + "x", "text after"},
		"a list":        {"[]", "array"},
		"unknown field": {strings.Replace(string(good), `"seed"`, `"sead"`, 1), "sead"},
		"negative seed": {strings.Replace(string(good), `"seed":9`, `"seed":-9`, 1), "seed"},
	} {
		t.Run(name, func(t *testing.T) { checkRefused(t, v.text, v.says) })
	}
}

func checkRefused(t *testing.T, text, says string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), piece.ManifestName)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := piece.Load(path)
	if err == nil {
		t.Fatal("it is loaded")
	}
	if m := err.Error(); !strings.Contains(m, path) || !strings.Contains(m, says) || strings.Contains(m, "\n") {
		t.Errorf("error %q: want one line that names %s and says %q", m, path, says)
	}
}

func TestLoadOfNoFile(t *testing.T) {
	_, err := piece.Load(filepath.Join(t.TempDir(), "none.json"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v is not fs.ErrNotExist", err)
	}
}

func FuzzLoad(f *testing.F) {
	good, err := json.Marshal(valid())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:200])
	f.Add([]byte(`{"version":1,"pieces":[{}]}`))
	path := filepath.Join(f.TempDir(), piece.ManifestName)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := piece.Load(path)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		for _, p := range m.Pieces {
			if !filepath.IsLocal(p.Flat) && p.Flat != "" || p.PaddedSize < 128 || p.SectorOffset < 0 {
				t.Errorf("loaded %+v", p)
			}
			c, err := piececid.Parse(p.CID)
			if got, ok := m.Find(c); err != nil || !ok || got.CID != p.CID {
				t.Errorf("%s is not found", p.CID)
			}
		}
		if err := m.Save(path); err != nil {
			t.Errorf("loaded, but not saved: %v", err)
		}
	})
}
