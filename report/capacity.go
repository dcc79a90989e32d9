package report

import (
	"fmt"
	"strconv"
	"strings"

	"piecebench/bench/result"
)

// Capacity are the sections of a run that searched the most clients within limits: the answers,
// and the limits. None of a sweep.
func (v *View) Capacity() []Section {
	c := v.Run.Capacity
	if c == nil {
		return nil
	}
	answers := Section{Title: "Capacity", Detail: "the most clients within " + c.File,
		Table: Table{Groups: 2, Head: []Column{Left("link"), Left("mode"), Left("target"), Right("serves"), Left("held"), Left("beyond"), Left("limited by"), Right("cells")}}}
	for _, a := range c.Answers {
		limitedBy := Missing
		if a.Failure != nil {
			limitedBy = OrMissing(a.Failure.LimitedBy)
		}
		answers.Table.Add(result.LinkName(a.Link), a.Mode, a.Target, Serves(a), at(a.Held), at(a.Beyond), limitedBy, strconv.Itoa(a.Cells))
		if note := because(a); note != "" {
			answers.Notes = append(answers.Notes, place(a)+": "+note)
		}
	}
	answers.Notes = append(answers.Notes, "Beyond: the fewest clients above with which a limit did not hold, or could not be judged. Confidence: "+
		"that most cells with so many clients would show the same.")
	limits := Section{Title: "Limits: " + c.File, Table: Table{Head: []Column{Left("line")}}, Fold: true}
	for line := range strings.Lines(c.Limits) {
		limits.Table.Add(strings.TrimRight(line, "\n"))
	}
	return []Section{answers, limits}
}

// Serves writes how many clients a target was found to serve.
func Serves(a result.CapacityAnswer) string {
	switch {
	case !a.Done:
		return "not known yet"
	case a.AtLeast != "" && a.Clients == 0:
		return "not known"
	case a.AtLeast != "":
		return fmt.Sprintf("at least %d", a.Clients)
	}
	return strconv.Itoa(a.Clients)
}

func at(c *result.CapacityAt) string {
	if c == nil {
		return Missing
	}
	all := c.Held + c.Failed + c.NotJudged
	var parts []string
	for _, n := range []struct {
		cells int
		what  string
	}{{c.Held, "held"}, {c.Failed, "failed"}, {c.NotJudged, "not judged"}} {
		if n.cells == all {
			parts = append(parts, fmt.Sprintf("%d of %d %s", n.cells, all, n.what))
		} else if n.cells > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.cells, n.what))
		}
	}
	text := fmt.Sprintf("%d: %s", c.Clients, strings.Join(parts, ", "))
	if c.Confidence > 0 {
		text += fmt.Sprintf(" (%s)", wholePercent(c.Confidence))
	}
	return text
}

func place(a result.CapacityAnswer) string {
	return a.Target + ", " + a.Mode + ", " + result.LinkName(a.Link)
}

// because says what the answer of a search rests on, and what a reader must know of it.
func because(a result.CapacityAnswer) string {
	var parts []string
	if f := a.Failure; f != nil {
		text := fmt.Sprintf("with %s, %s (cell %d", count(f.Clients, "client"), strings.Join(f.Limits, ", and "), f.Cell)
		if f.LimitedBy != "" {
			text += "; limited by " + f.LimitedBy
			if f.Because != "" {
				text += ": " + f.Because
			}
		}
		parts = append(parts, text+")")
	}
	switch {
	case !a.Done:
		parts = append(parts, fmt.Sprintf("the search has not ended; so far %d held", a.Clients))
	case a.AtLeast == result.AtLeastMost:
		parts = append(parts, fmt.Sprintf("all limits hold with %d, the most that this search allowed: a greater CONCURRENCY searches further", a.Most))
	case a.AtLeast == result.AtLeastMachine:
		parts = append(parts, fmt.Sprintf("this machine could not load it further: with %s it, and not the server, decided the figures. Run the clients on a machine with more cores", count(a.Beyond.Clients, "client")))
	case a.Clients == 0:
		parts = append(parts, "the limits do not hold even with 1 client")
	case a.Wide():
		parts = append(parts, "the search ended with its cells used up, because cells with the same clients disagreed: the answer may be too low")
	}
	if len(a.Exceptions) > 0 {
		var held []string
		for _, n := range a.Exceptions {
			held = append(held, strconv.Itoa(n))
		}
		parts = append(parts, fmt.Sprintf("not monotonic: %d clients failed, and %s held, which does not count", a.Beyond.Clients, strings.Join(held, ", ")))
	}
	return strings.Join(parts, "; ")
}

// capacityAnswer is the headline of a run that searched capacities, with what qualifies it.
func (v *View) capacityAnswer() (headline string, more []string) {
	c := v.Run.Capacity
	var all []string
	for _, a := range c.Answers {
		all = append(all, fmt.Sprintf("%s: %s", place(a), Serves(a)))
		if note := because(a); note != "" {
			more = append(more, place(a)+": "+note+".")
		}
	}
	if len(c.Answers) == 1 {
		a := c.Answers[0]
		return fmt.Sprintf("%s serves %s within %s (%s, %s).", a.Target, clients(a), c.File, a.Mode, result.LinkName(a.Link)), more
	}
	return "Clients served within " + c.File + ": " + Enumerate(all) + ".", more
}

func clients(a result.CapacityAnswer) string {
	switch serves := Serves(a); {
	case !a.Done || a.AtLeast != "" && a.Clients == 0:
		return "a number of clients that is " + serves
	case a.Clients == 0:
		return "not even 1 client"
	case a.Clients == 1:
		return serves + " client"
	default:
		return serves + " clients"
	}
}
