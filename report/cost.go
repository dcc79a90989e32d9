package report

import (
	"fmt"
	"strconv"
	"strings"

	"piecebench/bench/cost"
	"piecebench/bench/settings"
)

// costs are the sections on what the delivery of a TB costs; none without
// prices. A price that cannot be read counts as none: the commands refuse it.
func (v *view) costs() []section {
	prices, err := settings.Prices(v.run.Settings)
	if err != nil || !prices.Given() || len(v.targets) == 0 {
		return nil
	}
	all := []section{{title: "Cost per TB, at best: " + priceWords(prices), table: v.bestCosts(prices)}}
	if prices.ServerHour > 0 { // else every cell costs the same
		all = append(all, section{title: "Cost per TB, cell by cell", table: v.cellCosts(prices), detail: true})
	}
	return all
}

// priceWords says what is counted.
func priceWords(p cost.Prices) string {
	var words []string
	if p.Egress > 0 {
		words = append(words, fmt.Sprintf("egress at %s per GB", price(p.Egress)))
	}
	if p.ServerHour > 0 {
		words = append(words, fmt.Sprintf("a server at %s per hour", price(p.ServerHour)))
	}
	return strings.Join(words, ", ")
}

// bestCosts has a row a target and a column a link: the least that a TB costs
// in one of their cells, and in which.
func (v *view) bestCosts(prices cost.Prices) table {
	t := table{head: []column{left("target")}}
	for _, l := range v.links {
		t.head = append(t.head, left(linkName(l.name)))
	}
	for i, name := range v.targets {
		line := []string{name}
		for _, l := range v.links {
			line = append(line, l.bestCost(prices, i))
		}
		t.rows = append(t.rows, line)
	}
	return t
}

// bestCost is that of the cell with the most goodput, in which the server costs least.
func (l linkView) bestCost(prices cost.Prices, target int) string {
	var best row
	for _, r := range l.rows {
		if f := r.figures[target]; f != nil && (best.figures == nil || f.goodput > best.figures[target].goodput) {
			best = r
		}
	}
	if best.figures == nil {
		return missing
	}
	text, ok := perTB(prices, best.figures[target])
	if ok && prices.ServerHour > 0 {
		text += fmt.Sprintf(" (%s, %s)", best.mode, clients(best.concurrency))
	}
	return text
}

func (v *view) cellCosts(prices cost.Prices) table {
	t := table{head: []column{left("link"), left("mode"), right("clients")}}
	for _, name := range v.targets {
		t.head = append(t.head, right(name))
	}
	for _, r := range v.rows() {
		line := []string{linkName(r.link), r.mode, strconv.Itoa(r.concurrency)}
		for _, f := range r.figures {
			text, _ := perTB(prices, f)
			line = append(line, text)
		}
		t.rows = append(t.rows, line)
	}
	return t
}

// perTB writes what a TB costs at some goodput; ok is false where none was
// delivered.
func perTB(prices cost.Prices, f *figures) (text string, ok bool) {
	if f == nil {
		return missing, false
	}
	c, ok := prices.PerTB(f.goodput, f.delivered)
	if !ok {
		return missing, false
	}
	return money(c.Total()), true
}

// money writes an amount with four digits, as costs that egress dominates differ
// in the later ones.
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

// price writes a price as it was given.
func price(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
