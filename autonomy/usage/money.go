package usage

import (
	"fmt"
	"math"
	"strings"
)

// Micros is an amount of money in millionths of a US dollar.
type Micros int64

// Dollars converts an amount in US dollars to Micros.
func Dollars(usd float64) Micros { return Micros(math.Round(usd * 1e6)) }

// USD returns the amount in US dollars.
func (m Micros) USD() float64 { return float64(m) / 1e6 }

// String formats an amount for display: "$1.25", "$0.0042", "$0".
func (m Micros) String() string {
	switch {
	case m == 0:
		return "$0"
	case m < 0:
		return "-" + (-m).String()
	case m < 100:
		return "under $0.0001"
	case m < 100_000:
		return "$" + trimZeros(fmt.Sprintf("%.4f", m.USD()))
	}
	return fmt.Sprintf("$%.2f", m.USD())
}

// trimZeros removes trailing zeros: 0.0500 becomes 0.05.
func trimZeros(s string) string {
	for strings.HasSuffix(s, "0") && len(s) > len("0.00") {
		s = s[:len(s)-1]
	}
	return s
}
