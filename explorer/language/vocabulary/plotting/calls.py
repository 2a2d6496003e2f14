"""Which plotting calls are recorded, and which of their arguments: one table for the recorder and
for the drawer.

A call that is not listed for its kind of target is not recorded, and is not drawn if it was forged.
An argument that is not listed is left out.
"""

from __future__ import annotations

_ANY = "alpha color c label zorder visible clip_on rasterized"
_LINE = f"""{_ANY} linewidth lw linestyle ls marker markersize ms markeredgecolor mec
    markerfacecolor mfc markeredgewidth mew fillstyle drawstyle markevery dashes
    solid_capstyle dash_capstyle"""
_PATCH = f"{_ANY} facecolor fc edgecolor ec linewidth lw linestyle ls fill hatch"
_MAP = "cmap norm vmin vmax"
_COLLECTION = (
    f"{_PATCH} {_MAP} linewidths linestyles edgecolors facecolors colors hatch antialiased"
)
_TEXT = f"""{_ANY} fontsize size fontweight weight fontstyle style fontfamily family ha va
    horizontalalignment verticalalignment rotation rotation_mode bbox backgroundcolor fontdict
    loc pad y x labelpad wrap transform multialignment ma linespacing"""
_TICKS = f"{_TEXT} minor labels"

#: Arguments, by kind of target and by name of the call. One of the kind "artist" may be called on
#: all that is not a figure.
CALLS: dict[str, dict[str, str]] = {
    "figure": {
        "add_subplot": "projection polar sharex sharey label title xlabel ylabel xlim ylim aspect "
        "facecolor frameon",
        "subplots": "sharex sharey gridspec_kw subplot_kw width_ratios height_ratios",
        "add_axes": "projection polar sharex sharey label title xlabel ylabel xlim ylim aspect "
        "facecolor frameon",
        "add_grid_cell": "projection polar sharex sharey label title xlabel ylabel xlim ylim "
        "aspect facecolor frameon",
        "suptitle": _TEXT,
        "supxlabel": _TEXT,
        "supylabel": _TEXT,
        "text": _TEXT,
        "legend": "loc ncol ncols fontsize frameon bbox_to_anchor title handles labels",
        "colorbar": "ax cax orientation label shrink aspect pad fraction ticks format extend "
        "location extendfrac spacing",
        "tight_layout": "pad w_pad h_pad rect",
        "subplots_adjust": "left right top bottom wspace hspace",
        "set_size_inches": "",
        "set_facecolor": "",
        "set_constrained_layout": "",
        "set_layout_engine": "",
        "align_labels": "",
        "autofmt_xdate": "rotation ha",
        "delaxes": "",
    },
    "axes": {
        "plot": f"{_LINE} scalex scaley data",
        "scatter": f"{_COLLECTION} s marker plotnonfinite data depthshade",
        "hist": f"{_PATCH} bins range density weights cumulative bottom histtype align orientation "
        "rwidth log stacked",
        "hist2d": f"{_COLLECTION} bins range density cmin cmax",
        "hexbin": f"{_COLLECTION} C gridsize bins xscale yscale mincnt extent",
        "bar": f"{_PATCH} width bottom align tick_label log yerr xerr ecolor capsize error_kw",
        "barh": f"{_PATCH} height left align tick_label log yerr xerr ecolor capsize error_kw",
        "bar_label": f"{_TEXT} labels fmt label_type padding",
        "imshow": f"{_MAP} aspect interpolation origin extent alpha zorder interpolation_stage "
        "resample",
        "matshow": f"{_MAP} aspect interpolation origin extent alpha zorder",
        "spy": "precision marker markersize aspect origin",
        "pcolormesh": f"{_COLLECTION} shading",
        "pcolor": f"{_COLLECTION} shading",
        "contour": f"{_COLLECTION} levels origin extent extend locator",
        "contourf": f"{_COLLECTION} levels origin extent extend locator hatches",
        "tricontour": f"{_COLLECTION} levels",
        "tricontourf": f"{_COLLECTION} levels",
        "tripcolor": f"{_COLLECTION} shading",
        "clabel": "inline fontsize fmt colors inline_spacing",
        "fill_between": f"{_COLLECTION} where interpolate step",
        "fill_betweenx": f"{_COLLECTION} where interpolate step",
        "fill": f"{_PATCH}",
        "stackplot": f"{_COLLECTION} labels baseline",
        "errorbar": f"{_LINE} yerr xerr fmt ecolor elinewidth capsize capthick barsabove "
        "errorevery",
        "step": f"{_LINE} where",
        "stairs": f"{_PATCH} baseline orientation",
        "stem": "linefmt markerfmt basefmt bottom label orientation",
        "pie": "explode labels colors autopct pctdistance shadow labeldistance startangle radius "
        "counterclock wedgeprops textprops center normalize",
        "boxplot": "notch sym vert whis positions widths patch_artist labels tick_labels showmeans "
        "meanline showfliers showcaps showbox orientation",
        "violinplot": "positions vert widths showmeans showextrema showmedians quantiles points "
        "orientation",
        "semilogx": f"{_LINE} base",
        "semilogy": f"{_LINE} base",
        "loglog": f"{_LINE} base",
        "quiver": f"{_COLLECTION} units angles scale scale_units width headwidth headlength "
        "headaxislength pivot length normalize",
        "quiverkey": f"{_TEXT} labelpos coordinates",
        "streamplot": f"{_MAP} density linewidth color arrowsize arrowstyle minlength",
        "vlines": f"{_COLLECTION}",
        "hlines": f"{_COLLECTION}",
        "axhline": f"{_LINE} xmin xmax y",
        "axvline": f"{_LINE} ymin ymax x",
        "axline": f"{_LINE} slope",
        "axhspan": f"{_PATCH} xmin xmax",
        "axvspan": f"{_PATCH} ymin ymax",
        "arrow": f"{_PATCH} width head_width head_length length_includes_head shape overhang",
        "text": _TEXT,
        "annotate": f"{_TEXT} xy xytext xycoords textcoords arrowprops annotation_clip",
        "table": "cellText cellColours cellLoc colWidths rowLabels rowColours colLabels colColours "
        "loc bbox edges",
        "eventplot": f"{_COLLECTION} orientation lineoffsets linelengths",
        "acorr": f"{_LINE} maxlags normed",
        "specgram": f"{_MAP} NFFT Fs Fc noverlap mode scale",
        "plot_surface": f"{_COLLECTION} rstride cstride rcount ccount shade",
        "plot_wireframe": f"{_COLLECTION} rstride cstride rcount ccount",
        "plot_trisurf": f"{_COLLECTION} shade",
        "contour3D": f"{_COLLECTION} levels offset zdir",
        "plot3D": _LINE,
        "scatter3D": f"{_COLLECTION} s marker depthshade",
        "bar3d": f"{_PATCH} shade",
        "view_init": "elev azim roll",
        "set_zlabel": _TEXT,
        "set_zlim": "",
        "set_zlim3d": "",
        "set_xlim3d": "",
        "set_ylim3d": "",
        "set_zticks": _TICKS,
        "set_zticklabels": _TEXT,
        "set_box_aspect": "zoom",
        "add_patch": "",
        "add_line": "",
        "add_collection": "",
        "set_title": _TEXT,
        "set_xlabel": _TEXT,
        "set_ylabel": _TEXT,
        "set_xlim": "left right xmin xmax auto emit",
        "set_ylim": "bottom top ymin ymax auto emit",
        "set_xbound": "lower upper",
        "set_ybound": "lower upper",
        "set_xscale": "base linthresh linscale nonpositive",
        "set_yscale": "base linthresh linscale nonpositive",
        "set_xticks": _TICKS,
        "set_yticks": _TICKS,
        "set_xticklabels": _TICKS,
        "set_yticklabels": _TICKS,
        "set_xmargin": "",
        "set_ymargin": "",
        "margins": "x y tight",
        "set_aspect": "adjustable anchor share",
        "set_facecolor": "",
        "set_axis_off": "",
        "set_axis_on": "",
        "set_frame_on": "",
        "set_axisbelow": "",
        "set_position": "",
        "set_prop_cycle": "color linestyle marker",
        "axis": "xmin xmax ymin ymax",
        "grid": f"{_LINE} which axis",
        "minorticks_on": "",
        "minorticks_off": "",
        "ticklabel_format": "axis style scilimits useOffset useMathText",
        "locator_params": "axis nbins tight",
        "tick_params": "axis which direction length width color pad labelsize labelcolor colors "
        "bottom top left right labelbottom labeltop labelleft labelright labelrotation reset "
        "grid_color grid_alpha grid_linewidth grid_linestyle",
        "label_outer": "",
        "legend": "loc ncol ncols fontsize frameon fancybox shadow framealpha facecolor edgecolor "
        "bbox_to_anchor title title_fontsize handles labels markerscale borderpad labelspacing "
        "handlelength handletextpad borderaxespad columnspacing numpoints scatterpoints mode "
        "labelcolor prop",
        "invert_xaxis": "",
        "invert_yaxis": "",
        "twinx": "",
        "twiny": "",
        "inset_axes": "",
        "relim": "",
        "autoscale": "enable axis tight",
        "autoscale_view": "tight scalex scaley",
        "sharex": "",
        "sharey": "",
        "set": "title xlabel ylabel xlim ylim xscale yscale xticks yticks xticklabels yticklabels "
        "aspect facecolor zlabel zlim frame_on axisbelow",
        # what is not a call in matplotlib
        "spines": "",
        "xaxis": "",
        "yaxis": "",
        "zaxis": "",
    },
    "axis": {
        "set_ticks": _TICKS,
        "set_ticklabels": _TEXT,
        "set_label_text": _TEXT,
        "set_label_position": "",
        "set_ticks_position": "",
        "set_label_coords": "",
        "set_tick_params": "which direction length width color pad labelsize labelcolor colors "
        "labelrotation bottom top left right labelbottom labeltop labelleft labelright",
        "set_major_locator": "",
        "set_minor_locator": "",
        "set_major_formatter": "",
        "set_inverted": "",
        "tick_top": "",
        "tick_bottom": "",
        "tick_left": "",
        "tick_right": "",
        "grid": f"{_LINE} which",
        "set_pane_color": "",
    },
    "spine": {
        "set_position": "",
        "set_bounds": "",
    },
    "line": {
        "set_data": "",
        "set_xdata": "",
        "set_ydata": "",
        "set_3d_properties": "",
        "set_linewidth": "",
        "set_linestyle": "",
        "set_marker": "",
        "set_markersize": "",
        "set_dashes": "",
    },
    "mappable": {
        "set_data": "",
        "set_array": "",
        "set_offsets": "",
        "set_cmap": "",
        "set_clim": "vmin vmax",
        "set_extent": "",
        "set_norm": "",
        "set_sizes": "",
        "set_linewidth": "",
        "autoscale": "",
    },
    "patch": {
        "set_height": "",
        "set_width": "",
        "set_linewidth": "",
        "set_hatch": "",
        "set_xy": "",
        "set_fill": "",
    },
    "text": {
        "set_text": "",
        "set_fontsize": "",
        "set_rotation": "",
        "set_position": "",
        "set_x": "",
        "set_y": "",
        "set_ha": "",
        "set_va": "",
        "set_weight": "",
        "set_fontweight": "",
    },
    "legend": {"set_title": "", "set_loc": "", "set_frame_on": ""},
    "colorbar": {
        "set_label": _TEXT,
        "set_ticks": "labels",
        "set_ticklabels": _TEXT,
        "minorticks_on": "",
    },
    "container": {},
    "artist": {
        "set_color": "",
        "set_facecolor": "",
        "set_edgecolor": "",
        "set_alpha": "",
        "set_visible": "",
        "set_label": "",
        "set_zorder": "",
        "set_linewidth": "",
        "remove": "",
        "set": f"{_LINE} {_TEXT} {_PATCH}",
    },
}

_ALLOWED = {
    kind: {name: frozenset(arguments.split()) for name, arguments in calls.items()}
    for kind, calls in CALLS.items()
}


def allowed(kind: str, name: str) -> frozenset[str] | None:
    """The named arguments of a call that are recorded; None if the call is not."""
    found = _ALLOWED.get(kind, {}).get(name)
    return _ALLOWED["artist"].get(name) if found is None and kind != "figure" else found


#: Settings of `rcParams` that are kept.
_STYLE_WORDS = """
    figure.figsize figure.dpi figure.facecolor figure.titlesize figure.autolayout
    figure.constrained_layout.use font.size font.weight axes.grid axes.titlesize axes.labelsize
    axes.facecolor axes.edgecolor axes.linewidth axes.labelcolor axes.titleweight axes.labelweight
    axes.spines.top axes.spines.right axes.spines.left axes.spines.bottom axes.axisbelow
    axes.xmargin axes.ymargin axes.titlepad lines.linewidth lines.markersize lines.linestyle
    lines.marker lines.color xtick.labelsize ytick.labelsize xtick.color ytick.color
    xtick.direction ytick.direction legend.fontsize legend.loc legend.frameon legend.framealpha
    legend.title_fontsize grid.alpha grid.color grid.linestyle grid.linewidth image.cmap
    image.interpolation image.origin image.aspect text.color patch.linewidth scatter.marker
    savefig.facecolor
"""
STYLE = frozenset(_STYLE_WORDS.split())
_SHEETS = """
    default classic ggplot bmh fivethirtyeight grayscale dark_background tableau-colorblind10 fast
    Solarize_Light2
"""
_SEABORN = """
    bright colorblind dark dark-palette darkgrid deep muted notebook paper pastel poster talk ticks
    white whitegrid
"""
#: The names that matplotlib gives to its style sheets.
SHEETS = frozenset(
    [*_SHEETS.split(), "seaborn-v0_8", *(f"seaborn-v0_8-{name}" for name in _SEABORN.split())]
)
