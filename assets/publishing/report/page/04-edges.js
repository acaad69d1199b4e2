// Boxes that are wider than the screen.

// Show by fading its edge that a box can be scrolled to the right; the heads of a table that fits can stick.
function markEdge(box) {
  const update = () => {
    box.classList.toggle("cut", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.classList.toggle("fits", box.scrollWidth <= box.clientWidth + 1);
  };
  box.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  for (const each of [box, ...box.children]) observer.observe(each);
  return box;
}

for (const box of document.querySelectorAll(".wide, .chart, nav.parts > ul")) markEdge(box);
