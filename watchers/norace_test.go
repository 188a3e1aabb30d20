//go:build !race

package watchers_test

const raceDetector = false
