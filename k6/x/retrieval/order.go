package retrieval

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"piecebench/internal/plain"
	"piecebench/k6/x/retrieval/draw"
	"piecebench/k6/x/retrieval/httpget"
	"piecebench/piece/verify"
)

// order is a request that is ready to be sent.
type order struct {
	request   httpget.Request
	cid       string            // of the piece, v1
	object    string            // or the object's name
	name      string            // of k6's tags name and url
	piece     int               // index; of an object -1
	reference *verify.Reference // what the bytes are compared with as they come; nil: they are not
	options
}

// options are the properties of a request that say what becomes of its answer. A batch
// has them too, for those of its requests that do not.
type options struct {
	verify  *bool // nil: the cell's share
	keep    bool
	decode  bool
	timeout time.Duration
}

var errNoPieces = errors.New("the cell has no url, so this target serves objects only")

// draw returns the next request of the sequence.
func (c *client) draw() order {
	next := c.sequence.Next()
	o := c.ofPiece(next.Piece)
	o.request.Offset, o.request.Length = next.Offset, next.Length
	o.request.Whole = c.cell.opts.Length == draw.Full
	if c.sequence.Check(c.cell.opts.Verify) {
		o.reference = c.cell.references[next.Piece]
	}
	return o
}

func (c *client) ofPiece(i int) order {
	cell := c.cell
	return order{
		piece: i, cid: cell.manifest.Pieces[i].CID, name: cell.name,
		request: httpget.Request{URL: cell.urls[i], Size: cell.objects[i].Size},
	}
}

// What a script may write in a request, and in the options of a batch.
var (
	requestProperties = []string{"piece", "object", "offset", "length", "verify", "keep", "decode", "timeout"}
	batchProperties   = []string{"parallel", "verify", "keep", "decode", "timeout"}
)

// parse returns the order of a request as a script writes it.
func (c *client) parse(v sobek.Value, defaults options) (order, error) {
	p, err := c.properties(v, "a request", requestProperties...)
	if err != nil {
		return order{}, err
	}
	o, err := c.find(p)
	if err != nil {
		return o, err
	}
	if o.options, err = p.options(defaults); err != nil {
		return o, err
	}
	o.request.Timeout = o.timeout
	if err := c.span(&o, p); err != nil {
		return o, err
	}
	if (o.keep || o.decode) && o.request.Length > maxBody {
		return o, fmt.Errorf("a body of %d bytes cannot be kept: the most is %d", o.request.Length, maxBody)
	}
	// Drawn in any case, so that it does not change what is drawn next.
	drawn := c.sequence.Check(c.cell.opts.Verify)
	if o.verify != nil && !*o.verify || o.verify == nil && (!drawn || c.cell.checkable(&o) != nil) {
		return o, nil
	}
	o.reference, err = c.cell.reference(&o)
	return o, err
}

// find returns the order of the piece or object that a request names.
func (c *client) find(p properties) (order, error) {
	named, object := p.get("piece"), p.get("object")
	switch {
	case (named == nil) == (object == nil):
		return order{}, errors.New("a request has either a piece (index or CID) or an object (name)")
	case object != nil:
		return c.cell.ofObject(object.String())
	case len(c.cell.urls) == 0:
		return order{}, errNoPieces
	}
	if cid, ok := named.Export().(string); ok {
		i, known := c.cell.byCID[cid]
		if !known {
			return order{}, fmt.Errorf("piece %s is not in the manifest", plain.Line(cid))
		}
		return c.ofPiece(i), nil
	}
	i, err := p.whole("piece", 0, int64(len(c.cell.urls)-1))
	if err != nil {
		return order{}, fmt.Errorf("%w: the manifest has %d pieces", err, len(c.cell.urls))
	}
	return c.ofPiece(int(i)), nil
}

func (c *cell) ofObject(name string) (order, error) {
	if c.opts.ObjectURL == "" {
		return order{}, fmt.Errorf("object %s: the cell has no object_url, so this target serves pieces only", plain.Line(name))
	}
	if name == "" {
		return order{}, errors.New("the object's name is empty")
	}
	u, err := url.Parse(strings.ReplaceAll(c.opts.ObjectURL, "{object}", escape(name)))
	if err != nil {
		return order{}, fmt.Errorf("object %s: %w", plain.Line(name), err)
	}
	return order{piece: -1, object: name, name: c.objectName, request: httpget.Request{URL: u}}, nil
}

// escape returns an object's name as a part of a URL's path. Its slashes stay.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// span sets which bytes are asked for: without offset and length all.
func (c *client) span(o *order, p properties) error {
	r := &o.request
	if p.get("offset") == nil && p.get("length") == nil {
		r.Whole, r.Length = true, r.Size
		if r.Size == 0 {
			r.Length, r.Most = httpget.Unknown, maxBody
			if !o.keep && !o.decode {
				r.Most = 0
			}
		}
		return nil
	}
	if p.get("length") == nil {
		return errors.New("the request has an offset and no length: give both, or none for the whole")
	}
	last := int64(1) << 53 // to which JavaScript's numbers are exact
	if r.Size > 0 {
		last = r.Size
	}
	var err error
	if p.get("offset") != nil {
		r.Offset, err = p.whole("offset", 0, last-1)
	}
	if err == nil {
		r.Length, err = p.whole("length", 1, last-r.Offset)
	}
	if err != nil && r.Size > 0 {
		return fmt.Errorf("%w: the piece has %d bytes", err, r.Size)
	}
	return err
}

// properties are those of an object of the script.
type properties struct{ *sobek.Object }

// properties refuses an object that has others than the known ones.
func (c *client) properties(v sobek.Value, what string, known ...string) (properties, error) {
	o, ok := v.(*sobek.Object)
	if !ok {
		return properties{}, fmt.Errorf("%s is %s: want an object with %s", what, plain.Line(v.String()), strings.Join(known, ", "))
	}
	for _, key := range o.Keys() {
		if !slices.Contains(known, key) {
			return properties{}, fmt.Errorf("%s has no property %s: it may have %s", what, plain.Line(key), strings.Join(known, ", "))
		}
	}
	return properties{o}, nil
}

// get returns a property; nil where there is none.
func (p properties) get(name string) sobek.Value {
	if p.Object == nil {
		return nil
	}
	if v := p.Get(name); v != nil && !sobek.IsUndefined(v) && !sobek.IsNull(v) {
		return v
	}
	return nil
}

// number returns a property that is a number from least to most.
func (p properties) number(name string, least, most float64) (float64, error) {
	v := p.get(name)
	switch v.Export().(type) {
	case int64, float64:
		if n := v.ToFloat(); n >= least && n <= most {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s is %s: want a number from %s to %s", name, plain.Line(v.String()), short(least), short(most))
}

// whole returns a property that is a whole number from least to most.
func (p properties) whole(name string, least, most int64) (int64, error) {
	n, err := p.number(name, float64(least), float64(most))
	if err == nil && n != math.Trunc(n) {
		err = fmt.Errorf("%s is %v: want a whole number", name, n)
	}
	return int64(n), err
}

func short(n float64) string { return fmt.Sprintf("%.15g", n) }

// flag returns a property that is true or false; otherwise if there is none.
func (p properties) flag(name string, otherwise bool) (bool, error) {
	v := p.get(name)
	if v == nil {
		return otherwise, nil
	}
	set, ok := v.Export().(bool)
	if !ok {
		return false, fmt.Errorf("%s is %s: want true or false", name, plain.Line(v.String()))
	}
	return set, nil
}

// options returns the options among the properties, over the defaults.
func (p properties) options(o options) (options, error) {
	var err error
	if p.get("verify") != nil {
		var set bool
		if set, err = p.flag("verify", false); err != nil {
			return o, err
		}
		o.verify = &set
	}
	if o.keep, err = p.flag("keep", o.keep); err != nil {
		return o, err
	}
	if v := p.get("decode"); v != nil {
		if v.String() != "zstd" {
			return o, fmt.Errorf("decode is %s: want 'zstd'", plain.Line(v.String()))
		}
		o.decode = true
	}
	if p.get("timeout") != nil {
		var seconds float64
		if seconds, err = p.number("timeout", 0.001, 1e6); err != nil {
			return o, fmt.Errorf("%w seconds", err)
		}
		o.timeout = time.Duration(seconds * float64(time.Second))
	}
	return o, nil
}
