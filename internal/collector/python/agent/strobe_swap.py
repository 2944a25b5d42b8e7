NAME="swap"
