package bankfile

import (
	"fmt"
	"html"
	"strings"

	"hob/platform/text/amount"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
)

// parseOFX parses OFX 1.x (SGML, whose elements may have no end) and 2.x (XML). It reads the elements
// one by one instead of building a tree, because many banks write files that are neither.
// The format is defined by OFX 1.6 and 2.2, https://financialdataexchange.org.
func parseOFX(text string, o Options) Statement {
	p := ofxParser{Options: o, statement: Statement{Format: "ofx"}, currency: o.Currency}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "<")
		if !ok {
			break
		}
		tag, after, ok := strings.Cut(after, ">")
		if !ok {
			break
		}
		value, _, _ := strings.Cut(after, "<")
		p.readElement(strings.ToUpper(strings.TrimSpace(tag)), strings.TrimSpace(html.UnescapeString(value)))
		rest = after
	}
	p.endTransaction()
	p.convertAmounts()
	return p.statement
}

// ofxTransaction is a transaction whose amount is not parsed yet.
type ofxTransaction struct {
	Entry
	number string
	kind   string // TRNTYPE
	posted string
}

type ofxParser struct {
	Options
	statement Statement
	currency  string
	open      *ofxTransaction
	list      []ofxTransaction
	original  bool // inside of ORIGCURRENCY
	count     int
}

func (p *ofxParser) readElement(tag, value string) {
	switch tag {
	case "CURDEF":
		if amount.IsCode(strings.ToUpper(value)) {
			p.currency = strings.ToUpper(value)
		}
	case "ACCTID":
		if p.open == nil && p.statement.Account == "" {
			p.statement.Account = cleanText(value)
		}
	case "STMTTRN":
		p.endTransaction()
		p.count++
		p.open = &ofxTransaction{Entry: Entry{Currency: p.currency, Line: p.count}}
	case "/STMTTRN", "/BANKTRANLIST", "LEDGERBAL", "AVAILBAL":
		p.endTransaction()
	case "ORIGCURRENCY", "/ORIGCURRENCY":
		p.original = tag == "ORIGCURRENCY"
	}
	if p.open == nil || value == "" {
		return
	}
	switch tag {
	case "TRNTYPE":
		p.open.kind = strings.ToUpper(value)
	case "TRNAMT":
		p.open.number = value
	case "DTPOSTED":
		p.open.posted = value
	case "FITID":
		p.open.ID = cleanText(value)
	case "NAME", "EXTDNAME":
		if p.open.Payee == "" {
			p.open.Payee = cleanText(value)
		}
	case "MEMO":
		p.open.Memo = cleanText(value)
	case "CURSYM":
		if code := strings.ToUpper(value); amount.IsCode(code) && !p.original {
			p.open.Currency = code
		}
	}
}

func (p *ofxParser) endTransaction() {
	if p.open != nil {
		p.list = append(p.list, *p.open)
		p.open, p.original = nil, false
	}
}

// spendingKinds are the types of transactions in which money is spent.
const spendingKinds = " DEBIT POS ATM CHECK PAYMENT FEE SRVCHG CASH DIRECTDEBIT REPEATPMT "

// incomingKinds are the types of transactions in which money comes in. INT, DIV, XFER and OTHER may be both.
const incomingKinds = " CREDIT DEP DIRECTDEP "

func (t ofxTransaction) isOf(kinds string) bool {
	return t.kind != "" && strings.Contains(kinds, " "+t.kind+" ")
}

// convertAmounts parses the amounts and dates. OFX allows a comma or a point for the decimals and
// nothing for thousands.
func (p *ofxParser) convertAmounts() {
	negative, byKind := false, false
	for _, t := range p.list {
		negative = negative || strings.Contains(t.number, "-")
		byKind = byKind || t.isOf(spendingKinds)
	}
	if !negative && byKind {
		p.statement.Notes = append(p.statement.Notes, "the bank wrote all amounts without a sign, so the type of each transaction decided what was spent")
	}
	for _, t := range p.list {
		why := ""
		digits := t.posted
		if len(digits) >= 8 && strings.Trim(digits[:8], "0123456789") == "" {
			digits = digits[:8] // the time and the zone follow
		}
		switch {
		case t.number == "":
			why = "it has no amount"
		case t.posted == "":
			why = "it has no date"
		default:
			t.Day, why = checkDay(digits, tabular.DayFirst, p.Now)
		}
		if why == "" {
			mark := '.'
			if i := strings.LastIndexAny(t.number, ".,"); i >= 0 && t.number[i] == ',' {
				mark = ','
			}
			minor, err := amount.Parse(t.number, mark, t.Currency)
			if err != nil {
				why = err.Error()
			}
			switch {
			case negative || !byKind:
			case t.isOf(spendingKinds):
				minor = -minor
			case !t.isOf(incomingKinds) && why == "":
				why = fmt.Sprintf("neither a sign nor its type %q shows whether money was spent", textnorm.Ellipsize(cleanText(t.kind), 20))
			}
			t.Minor = minor
		}
		if why != "" {
			p.statement.Skipped = append(p.statement.Skipped, Skipped{t.Line, why})
			continue
		}
		p.statement.Entries = append(p.statement.Entries, t.Entry)
	}
}
