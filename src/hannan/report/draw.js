;(async () => {
  // Labels of categories lie flat while each has room, and lean otherwise.
  const crowded = (place, spec) => {
    const words = new Set();
    for (const layer of spec.layer ?? []) {
      const x = layer.encoding?.x;
      const data = layer.data ?? spec.data;
      if (!x?.field || x.type === "quantitative") continue;
      for (const row of data?.values ?? spec.datasets?.[data?.name] ?? []) words.add(String(row[x.field]));
    }
    return Math.max(0, ...[...words].map((word) => word.length)) * 6.4 * words.size > place.clientWidth - 70;
  };
  const ink = { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal" };
  const config = {
    background: null,
    font: getComputedStyle(document.body).fontFamily,
    axis: { ...ink, labelOpacity: 0.8, titleOpacity: 0.85, gridColor: "currentColor", gridOpacity: 0.12, domainColor: "currentColor", domainOpacity: 0.35, tickColor: "currentColor", tickOpacity: 0.35 },
    legend: { ...ink, labelLimit: 220, symbolStrokeWidth: 2 },
    title: { color: "currentColor" },
    text: { color: "currentColor", fill: "currentColor" },
  };
  const options = { renderer: "svg", actions: false, config, loader: { load: () => Promise.reject(new Error("this page asks the network for nothing")) } };
  for (const place of document.querySelectorAll(".chart")) {
    const spec = JSON.parse(place.parentElement.querySelector('script[type="application/json"]').textContent);
    try {
      config.axisXDiscrete = { labelAngle: crowded(place, spec) ? -40 : 0 };
      config.legend.columns = place.clientWidth < 480 ? 2 : 4;
      // Two columns of labels share the width of a phone.
      config.legend.labelLimit = place.clientWidth < 480 ? place.clientWidth / 2 - 48 : 220;
      await window.vegaEmbed(place, spec, options);
      place.classList.add("drawn");
    } catch (error) {
      console.error(error);
    }
  }
  document.documentElement.dataset.drawn = "true";
})();
