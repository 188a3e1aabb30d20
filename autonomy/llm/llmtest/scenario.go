package llmtest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"hob/autonomy/llm"
)

// ParseScript parses the model's part of a txtar scenario. Every file in the archive named "model",
// or "model/" followed by any name, is one answer; other files are ignored. An answer consists of
// "key: value" lines and, after an empty line, its text:
//
//	-- model/first --
//	match: stretch
//	call: create_reminder {"text":"stretch","at":"in 1 minute"}
//	-- model/second --
//	match: stretch
//
//	I will remind you in a minute.
//	-- model/down --
//	match: weather
//	times: 2
//	status: 429
//	header: Retry-After: 1
//
// The keys are those of Answer in lower case: match, result, times (a number, or * for unlimited),
// reasoning, signature, text, call (name, then arguments; may repeat; "call#id: ..." sets the id),
// image (its type, and the data in base64; may repeat), stop, usage (input output [cached]),
// pieces, delay, gap, fault, after, status, header (may repeat) and body. An unknown key is an
// error.
func ParseScript(a *txtar.Archive) ([]Answer, error) {
	var out []Answer
	for _, f := range a.Files {
		if f.Name != "model" && !strings.HasPrefix(f.Name, "model/") {
			continue
		}
		answer, err := parseAnswer(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("llmtest: answer %d (%s): %w", len(out)+1, f.Name, err)
		}
		out = append(out, answer)
	}
	return out, nil
}

func parseAnswer(data string) (Answer, error) {
	var a Answer
	head, text, _ := strings.Cut("\n"+data, "\n\n")
	a.Text = strings.TrimSuffix(text, "\n")
	for _, line := range strings.Split(head, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return a, fmt.Errorf("%q is not a \"key: value\" line; separate the text from the keys with an empty line", line)
		}
		if err := a.setField(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return a, fmt.Errorf("%q: %w", line, err)
		}
	}
	return a, nil
}

func (a *Answer) setField(key, value string) error {
	if key, id, ok := strings.Cut(key, "#"); ok && key == "call" {
		return a.addCall(id, value)
	}
	var err error
	switch key {
	case "match":
		a.Match = value
	case "result":
		a.Result = value
	case "times":
		if value == "*" {
			value = "-1"
		}
		a.Times, err = strconv.Atoi(value)
	case "reasoning":
		a.Reasoning = value
	case "signature":
		a.Signature = value
	case "text":
		a.Text = value
	case "call":
		return a.addCall("", value)
	case "image":
		mime, data, _ := strings.Cut(value, " ")
		i := llm.Image{MIME: mime}
		i.Data, err = base64.StdEncoding.DecodeString(data)
		a.Images = append(a.Images, i)
	case "stop":
		a.Stop = value
	case "usage":
		a.Usage, err = parseUsage(value)
	default:
		return a.setWire(key, value)
	}
	return err
}

// setWire sets the fields that describe the transport of an answer.
func (a *Answer) setWire(key, value string) error {
	var err error
	switch key {
	case "pieces":
		a.Pieces, err = strconv.Atoi(value)
	case "delay":
		a.Delay, err = time.ParseDuration(value)
	case "gap":
		a.Gap, err = time.ParseDuration(value)
	case "fault":
		a.Fault, err = parseFault(value)
	case "after":
		a.After, err = strconv.Atoi(value)
	case "status":
		a.Status, err = strconv.Atoi(value)
	case "body":
		a.Body = value
	case "header":
		name, v, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("a header must look like \"Name: value\"")
		}
		if a.Header == nil {
			a.Header = map[string]string{}
		}
		a.Header[strings.TrimSpace(name)] = strings.TrimSpace(v)
	default:
		return fmt.Errorf("unknown key")
	}
	return err
}

func (a *Answer) addCall(id, value string) error {
	name, args, _ := strings.Cut(value, " ")
	if name == "" {
		return fmt.Errorf("a call must consist of a tool's name and its arguments")
	}
	a.Calls = append(a.Calls, Call{ID: id, Name: name, Args: strings.TrimSpace(args)})
	return nil
}

func parseUsage(value string) (llm.Usage, error) {
	var n [3]int
	fields := strings.Fields(value)
	if len(fields) < 2 || len(fields) > 3 {
		return llm.Usage{}, fmt.Errorf("usage must be 2 or 3 numbers: input, output and optionally cached tokens")
	}
	for i, f := range fields {
		var err error
		if n[i], err = strconv.Atoi(f); err != nil {
			return llm.Usage{}, err
		}
	}
	return llm.Usage{Input: n[0], Output: n[1], CacheRead: n[2], Known: true}, nil
}

func parseFault(value string) (Fault, error) {
	known := []Fault{
		Reset, EOF, Stall, Pings, HalfJSON, Garbage, StreamError, CutArgs, SameIDs, NoIDs, NoIndex, SameIndex,
		OneChunk, ObjectArgs, JSON, HTML, NoBody, NoDone, NoUsage, UsageInLast, Odd,
	}
	if f := Fault(value); slices.Contains(known, f) {
		return f, nil
	}
	return "", fmt.Errorf("unknown fault; use one of %v", known)
}
