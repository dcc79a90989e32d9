package report

import (
	"fmt"
	"strconv"
	"strings"

	"piecebench/bench/cost"
	"piecebench/bench/result"
	"piecebench/bench/settings"
)

// Costs are the sections on the cost per TB; none without prices. A price that cannot be read
// counts as none: the commands refuse it.
func (v *View) Costs() []Section {
	prices, err := settings.Prices(v.Run.Settings)
	if err != nil || !prices.Given() || len(v.Targets) == 0 {
		return nil
	}
	all := []Section{{Title: "Cost per TB, at best: " + priceWords(prices), Table: v.bestCosts(prices), Notes: v.egressNote(prices)}}
	if prices.ServerHour > 0 || v.wired() > 0 { // else every row costs the same
		all = append(all, Section{Title: "Cost per TB, row by row", Table: v.rowCosts(prices), Fold: true})
	}
	return all
}

func priceWords(p cost.Prices) string {
	price := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	var words []string
	if p.Egress > 0 {
		words = append(words, fmt.Sprintf("egress at %s per GB", price(p.Egress)))
	}
	if p.ServerHour > 0 {
		words = append(words, fmt.Sprintf("a server at %s per hour", price(p.ServerHour)))
	}
	return strings.Join(words, ", ")
}

// egressNote says what is paid for as egress.
func (v *View) egressNote(prices cost.Prices) []string {
	if prices.Egress <= 0 {
		return nil
	}
	switch n := v.wired(); n {
	case 0:
		return []string{"Egress counts payload. Headers and retransmissions are not known, and a bill may include them."}
	case len(All(v.Rows)):
		return []string{"Egress counts the bytes on the wire, with headers and retransmissions."}
	}
	return []string{"Egress counts the bytes on the wire, with headers and retransmissions. " + payloadMark + ": they are not known, and egress counts payload."}
}

// payloadMark marks costs of payload among those of wire bytes.
const payloadMark = "(payload)"

// bestCosts has a line for each target and a column for each link: the least cost, and the row
// that has it.
func (v *View) bestCosts(prices cost.Prices) Table {
	t := Table{Head: []Column{Left("target")}}
	for _, l := range v.Links {
		t.Head = append(t.Head, Left(result.LinkName(l.Name)))
	}
	for i, name := range v.Targets {
		line := []string{name}
		for _, l := range v.Links {
			line = append(line, v.bestCost(l, prices, i))
		}
		t.Add(line...)
	}
	return t
}

// bestCost is that of the row with the most goodput, in which a server costs least.
func (v *View) bestCost(l *Link, prices cost.Prices, target int) string {
	var best *Figures
	for _, r := range l.Rows {
		if f := r.Figures[target]; f != nil && (best == nil || f.Goodput > best.Goodput) {
			best = f
		}
	}
	text := v.costPerTB(best, prices)
	if text != Missing && (prices.ServerHour > 0 || best.Wire > 0) {
		text += fmt.Sprintf(" (%s, %s)", best.Row.Mode, count(best.Row.Concurrency, "client"))
	}
	return text
}

func (v *View) rowCosts(prices cost.Prices) Table {
	t := Table{Head: []Column{Left("link"), Left("mode"), Right("clients")}}
	for _, name := range v.Targets {
		t.Head = append(t.Head, Right(name))
	}
	for _, r := range v.Rows {
		line := []string{result.LinkName(r.Link), r.Mode, strconv.Itoa(r.Concurrency)}
		for _, f := range r.Figures {
			line = append(line, v.costPerTB(f, prices))
		}
		t.Add(line...)
	}
	return t
}

// costPerTB is the cost of a TB at this goodput, if any was delivered.
func (v *View) costPerTB(f *Figures, prices cost.Prices) string {
	if f == nil {
		return Missing
	}
	egress := f.Wire
	if egress == 0 {
		egress = f.Delivered
	}
	c, ok := prices.PerTB(f.Goodput, egress)
	if !ok {
		return Missing
	}
	if f.Wire == 0 && prices.Egress > 0 && v.wired() > 0 {
		return money(c.Total()) + " " + payloadMark
	}
	return money(c.Total())
}

// money writes an amount with four digits: costs that egress dominates differ in the later
// ones.
func money(v float64) string {
	switch {
	case v >= 999.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 99.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
