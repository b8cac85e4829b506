"""Studies of hidden Markov models fitted by Baum–Welch (Yang 2018, chapter 2)."""
