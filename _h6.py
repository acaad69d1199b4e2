from benchmarks.simulations import pages as m
from benchmarks.measure import table
t=m._first_pages(200)
print(f"\n**{t.title}**\n\n{table(t.heads,t.rows)}")
