# Shows that scripts run at all, that their request reaches them and that their
# answer comes back whole.
function Main($in) {
  Answer @{ sum = [int]$in.a + [int]$in.b; text = [string]$in.text }
}
