// Package report is the model of a report: what it says, whatever its form. It makes the
// answer, cautions, tables and terms from a run. The packages below it write them as text,
// Markdown and HTML.
package report

// Document is a report made of sentences and tables, which every form can write.
type Document struct {
	Title     string
	Headline  string
	More      []string // sentences that qualify the headline
	Cautions  []Caution
	Sections  []Section
	Terms     []Term
	Elsewhere string // where all rows are, for a form that has no room for them
}

// Caution is what a reader must know before using the figures: what is the case, and what
// to do about it. Kind is a word or two.
type Caution struct{ Kind, Text string }

// Term is a word and its meaning.
type Term struct{ Name, Meaning string }

// Section is a table with its title and what explains it. The table may be empty.
type Section struct {
	Title, Detail string
	Table         Table
	Notes         []string
	Fold          bool // a long table, closed until a reader opens it
	Rank          int  // a form with limited room cuts open tables last, and those of a high rank first
}
