// Shows that scripts run at all, that their request reaches them and that their
// answer comes back whole.
function main(request) {
  return { sum: Number(request.a) + Number(request.b), text: String(request.text) };
}
