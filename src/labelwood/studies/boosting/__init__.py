"""Early stopping of kernel boosting (Yang 2018, chapter 3)."""
