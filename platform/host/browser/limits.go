package browser

import "time"

// limits contains the timeouts for pages.
type limits struct {
	// load is the time until a page is loaded, quiet the time until it makes few requests.
	// After that the page is read as it is.
	load, quiet time.Duration
	// answer is how long a page may take for one of Hob's scripts before it counts as busy;
	// click is the same for a click.
	answer, click time.Duration
	// script is the time limit of a script, including what it awaits.
	script time.Duration
	// read is the time limit for reading a page.
	read time.Duration
	// calm is how long to wait for the effects of an action.
	calm time.Duration
}

func defaultLimits() limits {
	return limits{
		load: 20 * time.Second, quiet: 2 * time.Second, answer: 8 * time.Second, click: 3 * time.Second,
		script: 5 * time.Second, read: 2500 * time.Millisecond, calm: 400 * time.Millisecond,
	}
}
