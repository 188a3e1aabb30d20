package bankfile

import (
	"fmt"
	"strings"

	"hob/platform/text/amount"
)

// qifRecord is a transaction in a QIF file, whose lines begin with a letter for their meaning.
type qifRecord struct {
	Entry
	date, number string
	splits       []qifSplit
}

// qifSplit is a part of a transaction with another category.
type qifSplit struct{ category, memo, number string }

// parseQIF parses a QIF file. Sections other than those of bank accounts, cash and cards are skipped.
func parseQIF(text string, o Options) (Statement, error) {
	s := Statement{Format: "qif"}
	var list []qifRecord
	var r qifRecord
	reading, account := false, false
	n := 0
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		code, value := line[0], strings.TrimSpace(line[1:])
		switch {
		case code == '!':
			kind := strings.ToLower(value)
			account = strings.HasPrefix(kind, "account")
			reading = kind == "type:bank" || kind == "type:cash" || kind == "type:ccard" || kind == "type:oth a" || kind == "type:oth l"
			r = qifRecord{}
		case account && code == 'N':
			s.Account = cleanText(value)
		case !reading:
		case code == '^':
			if r.date != "" || r.number != "" {
				list = append(list, r)
			}
			r = qifRecord{}
		default:
			if r.Line == 0 {
				r.Line = n
			}
			r.readField(code, value)
		}
	}
	if r.date != "" || r.number != "" { // the last record has no end
		list = append(list, r)
	}
	return s, s.convertQIF(list, o)
}

func (r *qifRecord) readField(code byte, value string) {
	last := len(r.splits) - 1
	switch code {
	case 'D':
		r.date = value
	case 'T', 'U':
		r.number = value
	case 'P':
		r.Payee = cleanText(value)
	case 'M':
		r.Memo = cleanText(value)
	case 'L':
		r.Category = cleanText(value)
	case 'S':
		r.splits = append(r.splits, qifSplit{category: cleanText(value)})
	case 'E':
		if last >= 0 {
			r.splits[last].memo = cleanText(value)
		}
	case '$':
		if last >= 0 {
			r.splits[last].number = value
		}
	}
}

func (s *Statement) convertQIF(list []qifRecord, o Options) error {
	var dates, numbers []string
	for _, r := range list {
		dates, numbers = append(dates, r.date), append(numbers, r.number)
		for _, p := range r.splits {
			numbers = append(numbers, p.number)
		}
	}
	order, err := resolveOrder(dates, o)
	if err != nil {
		return err
	}
	mark, err := resolveMark(numbers, o.Currency)
	if err != nil {
		return err
	}
	for _, r := range list {
		e := r.Entry
		e.Currency = o.Currency
		why := ""
		if e.Day, why = checkDay(r.date, order, o.Now); why == "" {
			if e.Minor, err = amount.Parse(r.number, mark, o.Currency); err != nil {
				why = err.Error()
			}
		}
		if strings.HasPrefix(e.Category, "[") {
			why = "it is a transfer to the account " + e.Category
		}
		if why != "" {
			s.Skipped = append(s.Skipped, Skipped{r.Line, why})
			continue
		}
		s.Entries = append(s.Entries, s.splitEntry(e, r.splits, mark)...)
	}
	return nil
}

// splitEntry returns the parts of a transaction. Parts that do not add up are not used.
func (s *Statement) splitEntry(e Entry, splits []qifSplit, mark rune) []Entry {
	e.Category = leafCategory(e.Category)
	if len(splits) == 0 {
		return []Entry{e}
	}
	var out []Entry
	sum := int64(0)
	for _, p := range splits {
		minor, err := amount.Parse(p.number, mark, e.Currency)
		if err != nil {
			break
		}
		part := e
		part.Minor, part.Category = minor, leafCategory(p.category)
		if p.memo != "" {
			part.Memo = p.memo
		}
		sum += minor
		out = append(out, part)
	}
	if len(out) != len(splits) || sum != e.Minor {
		s.Notes = append(s.Notes, fmt.Sprintf("the parts of the entry at line %d do not add up, so it is one expense of %s", e.Line, amount.Format(max(e.Minor, -e.Minor), e.Currency)))
		return []Entry{e}
	}
	return out
}

// leafCategory returns the last part of a category: "Food:Groceries/Home" gives "Groceries".
func leafCategory(s string) string {
	s, _, _ = strings.Cut(s, "/")
	return strings.TrimSpace(s[strings.LastIndexByte(s, ':')+1:])
}
