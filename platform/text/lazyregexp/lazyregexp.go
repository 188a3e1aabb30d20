// Package lazyregexp has regular expressions that are compiled when they are first used. As a
// package variable, such an expression does not cost time at each start of the program.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression. Its methods are those of regexp.Regexp and safe for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns an expression that compiles expr at its first use, and then panics if expr is invalid.
// In a test program it compiles expr immediately, so that each test finds an invalid expression.
func New(expr string) *Regexp {
	re := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if name := os.Args[0]; strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".test.exe") {
		re.compiled()
	}
	return re
}

func (re *Regexp) Match(b []byte) bool            { return re.compiled().Match(b) }
func (re *Regexp) MatchString(s string) bool      { return re.compiled().MatchString(s) }
func (re *Regexp) FindString(s string) string     { return re.compiled().FindString(s) }
func (re *Regexp) FindStringIndex(s string) []int { return re.compiled().FindStringIndex(s) }
func (re *Regexp) FindSubmatch(b []byte) [][]byte { return re.compiled().FindSubmatch(b) }
func (re *Regexp) FindStringSubmatch(s string) []string {
	return re.compiled().FindStringSubmatch(s)
}

func (re *Regexp) FindStringSubmatchIndex(s string) []int {
	return re.compiled().FindStringSubmatchIndex(s)
}

func (re *Regexp) FindAllString(s string, n int) []string {
	return re.compiled().FindAllString(s, n)
}

func (re *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return re.compiled().FindAllStringIndex(s, n)
}

func (re *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return re.compiled().FindAllStringSubmatch(s, n)
}

func (re *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return re.compiled().FindAllSubmatch(b, n)
}

func (re *Regexp) ReplaceAllString(src, repl string) string {
	return re.compiled().ReplaceAllString(src, repl)
}

func (re *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return re.compiled().ReplaceAllStringFunc(src, repl)
}
